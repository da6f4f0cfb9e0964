// Command report reads `go test -json` and prints what people need: one line a package, the output of what failed, every skip
// with its reason, and the sums. It exits 1 on a failure, on a run without tests, and with ONEFOLD_TEST_REQUIRED=1 on a skip.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

type report struct {
	output                  map[string][]string // of tests and packages that have not passed
	database                map[string]string   // of packages that use one
	skips                   []string
	passed, failed, skipped int
	broken                  bool // a package failed, perhaps without any test
}

func main() {
	r := report{output: map[string][]string{}, database: map[string]string{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text()) // not ours to hide
			continue
		}
		r.add(e)
	}
	os.Exit(r.end(lines.Err()))
}

func (r *report) add(e event) {
	id := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		r.output[id] = append(r.output[id], e.Output)
		if _, source, ok := strings.Cut(e.Output, "storetest: database from "); ok {
			r.database[e.Package] = "on " + strings.TrimSpace(source)
		}
	case "build-output":
		fmt.Print(e.Output)
	case "pass":
		r.passed += isTest(e)
		r.packageLine(e, "ok")
		delete(r.output, id)
	case "skip":
		r.skipped += isTest(e)
		if e.Test != "" {
			r.skips = append(r.skips, id+": "+reason(r.output[id]))
		}
		delete(r.output, id)
	case "fail":
		r.failed += isTest(e)
		r.broken = true
		fmt.Print(strings.Join(r.output[id], ""))
		r.packageLine(e, "FAIL")
	}
}

func isTest(e event) int {
	if e.Test == "" {
		return 0
	}
	return 1
}

func (r *report) packageLine(e event, word string) {
	if e.Test != "" {
		return
	}
	fmt.Printf("%-5s %s %.1fs %s\n", word, e.Package, e.Elapsed, r.database[e.Package])
}

// reason is what the test said before it skipped: the lines without the runner's own.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			said = append(said, line)
		}
	}
	return strings.Join(said, " ")
}

func (r *report) end(err error) int {
	for _, s := range r.skips {
		fmt.Println("SKIP ", s)
	}
	required := os.Getenv("ONEFOLD_TEST_REQUIRED") == "1"
	bad := r.broken || err != nil
	switch {
	case err != nil:
		fmt.Println("cannot read the results:", err)
	case r.passed == 0:
		bad = true
		fmt.Println("no test ran")
	case required && r.skipped > 0:
		bad = true
		fmt.Println("ONEFOLD_TEST_REQUIRED=1: a skip is a failure")
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	if bad {
		return 1
	}
	return 0
}
