package main_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The import rules of the tree. They are read from the sources, .templ files included, because linters do not see those.

const root = "../.."

// topLevel is fixed: a new part of the product is a package in one of these.
var topLevel = []string{
	"cmd", "web", "components", "domain", "jobs", "migrations", "static", "e2e",
	".ci", ".gitignore", ".golangci.yml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "go.mod", "go.sum",
}

// local are made here and never committed.
var local = []string{".git", ".onefold", "bin"}

// tiers order the domain: a package imports its own tier or a lower one, never a higher one.
var tiers = [][]string{
	{"fault", "money", "clock", "trace", "crash"},
	{"store"},
	{"journal", "operation", "inbox", "outbox", "provider", "account"},
	{"catalog", "cart", "order", "lead"},
	{"payment", "refund"},
	{"checkout", "fulfilment", "reconcile", "retention", "invariant", "console", "alarm"},
	{"operator"},
}

// testOnly never gets into the binary.
var testOnly = []string{
	"testing", "github.com/stretchr/testify", "github.com/testcontainers", "go.uber.org/goleak", "pgregory.net/rapid",
	"github.com/PuerkitoBio/goquery", "github.com/chromedp",
}

const (
	fiber = "github.com/gofiber"
	templ = "github.com/a-h/templ"
	pgx   = "github.com/jackc"
)

var river = []string{"github.com/riverqueue", "riverqueue.com"}

type source struct {
	file    string // relative to the root, with slashes
	imports []string
}

func (s source) in(dir string) bool { return within(s.file, dir) }

func (s source) isTest() bool { return strings.HasSuffix(s.file, "_test.go") }

// helpsTests are the packages made for tests that are no test files themselves.
func (s source) helpsTests() bool { return s.in("e2e") || forTests(path.Dir(s.file)) }

// forTests: such packages are named after what they help to test, as storetest is.
func forTests(pkg string) bool { return strings.HasSuffix(pkg, "test") }

// within tells path elements apart: "a/bc" is not within "a/b".
func within(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

func TestTopLevelIsFixed(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		require.Contains(t, append(local, topLevel...), e.Name(), "the top level is fixed, see topLevel")
	}
	commands, err := os.ReadDir(filepath.Join(root, "cmd"))
	require.NoError(t, err)
	require.Len(t, commands, 1, "there is one binary: onefold")
}

func TestImportRules(t *testing.T) {
	t.Parallel()
	all := sources(t)
	require.Greater(t, len(all), 20, "the walk finds the tree")
	for _, s := range all {
		for _, imported := range s.imports {
			if why := refused(s, imported); why != "" {
				t.Errorf("%s imports %q: %s", s.file, imported, why)
			}
		}
	}
}

func TestRulesRefuseWhatTheyShould(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, imported string
		fine           bool
	}{
		{"domain/order/create.go", "onefold/domain/journal", true},
		{"domain/order/create.go", "onefold/domain/payment", false},
		{"domain/order/create.go", "onefold/web", false},
		{"domain/order/create.go", "net/http", false},
		{"domain/order/create.go", "github.com/riverqueue/river", false},
		{"domain/surprise/new.go", "fmt", false},
		{"domain/provider/sim/client.go", "net/http", true},
		{"domain/store/storetest/server.go", "onefold/jobs/riverschema", true},
		{"web/routes.go", "onefold/domain/checkout", true},
		{"web/routes.go", "github.com/jackc/pgx/v5", false},
		{"web/routes.go", "onefold/jobs", false},
		{"web/routes.go", "riverqueue.com/riverui", false},
		{"jobs/relay.go", "github.com/jackc/pgx/v5", true},
		{"jobs/relay.go", "onefold/components/path", false},
		{"components/shop/cart.templ", "onefold/components/ui", true},
		{"components/shop/cart.templ", "onefold/domain/cart", false},
		{"static/static.go", "github.com/google/uuid", false},
		{"cmd/onefold/serve.go", "onefold/domain/store/storetest", false},
		{"cmd/onefold/serve_test.go", "onefold/domain/store/storetest", true},
		{"e2e/buy_test.go", "onefold/domain/order", false},
	} {
		require.Equal(t, c.fine, refused(source{file: c.file}, c.imported) == "", "%s imports %s", c.file, c.imported)
	}
}

// refused returns why a file may not import a package; "" if it may.
func refused(s source, imported string) string {
	is := func(paths ...string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return within(imported, p) })
	}
	switch {
	case s.in("e2e") && !s.in("e2e/bench") && is("onefold") && !is("onefold/domain/store/localpg", "onefold/domain/store/storetest", "onefold/web/webtest"):
		return "e2e is a black box: it starts the binary"
	case !s.isTest() && !s.helpsTests() && (is(testOnly...) || forTests(imported)):
		return "for tests only"
	case s.isTest(), s.helpsTests():
		return ""
	case s.in("domain"):
		return refusedInDomain(s, imported, is)
	case s.in("web") && is(pgx, "database/sql"):
		return "SQL lives in domain"
	case s.in("web") && is(append(river, "onefold/jobs")...):
		return "web and jobs do not meet"
	case s.in("jobs") && is("onefold/web", "onefold/components", "onefold/static", fiber, templ):
		return "jobs are transport: no HTTP, no HTML"
	case s.in("components") && isModule(imported) && !is("onefold/components", templ, "golang.org/x/text"):
		return "components know only their own view models"
	case (s.in("migrations") || s.in("static")) && isModule(imported) && (!s.in("static/build") || !is("onefold/static")):
		return "migrations and static are leaves"
	case is("onefold/cmd") && !s.in("cmd"):
		return "nothing imports a command"
	}
	return ""
}

func refusedInDomain(s source, imported string, is func(...string) bool) string {
	own := tier(s.file)
	switch {
	case own < 0:
		return "its package has no tier: give it one in architecture_test.go"
	case is("onefold/web", "onefold/jobs", "onefold/components", "onefold/static", "onefold/cmd"):
		return "domain knows no transport"
	case is(fiber, templ):
		return "domain knows neither Fiber nor templ"
	case is(river...):
		return "the relay turns rows into jobs"
	case is("net/http") && !s.in("domain/provider"):
		return "only provider adapters speak HTTP"
	case is("onefold/domain") && tier(strings.TrimPrefix(imported, "onefold/")+"/x.go") > own:
		return "tiers import downwards only"
	}
	return ""
}

// tier of a file below domain; -1 if its package has none.
func tier(file string) int {
	noun, _, _ := strings.Cut(strings.TrimPrefix(file, "domain/"), "/")
	return slices.IndexFunc(tiers, func(nouns []string) bool { return slices.Contains(nouns, noun) })
}

// isModule tells other modules and our own packages from the standard library.
func isModule(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first == "onefold" || strings.Contains(first, ".")
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains(local, name) || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if ext := path.Ext(name); d.IsDir() || (ext != ".go" && ext != ".templ") {
			return nil
		}
		// A .templ file begins like a Go file, and the parser stops after the imports.
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{file: name}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	require.NoError(t, err)
	return all
}
