// Command build takes the third-party files of the web pages out of what npm has put into static/node_modules, and writes them
// with a manifest to static/dist, from where they are embedded. Run it in the repository's root, after `npm ci`.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"onefold/static"
)

// wanted are single files: what else a package holds is not for the web.
var wanted = []struct{ pkg, file string }{
	{"htmx.org", "dist/htmx.min.js"},
	{"htmx.org", "dist/ext/hx-sse.min.js"},
}

func main() {
	if err := build("static"); err != nil {
		fmt.Fprintln(os.Stderr, "static/build:", err)
		os.Exit(1)
	}
}

func build(root string) error {
	dist := filepath.Join(root, "dist")
	var manifest []static.ThirdParty
	for _, w := range wanted {
		entry, content, err := take(filepath.Join(root, "node_modules", w.pkg), w.file)
		if err != nil {
			return err
		}
		manifest = append(manifest, entry)
		if err := write(filepath.Join(dist, entry.Name), content); err != nil {
			return err
		}
	}
	list, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return write(filepath.Join(dist, static.Manifest), append(list, '\n'))
}

func take(pkg, file string) (entry static.ThirdParty, content []byte, err error) {
	about, err := os.ReadFile(filepath.Join(pkg, "package.json"))
	if err != nil {
		return entry, nil, fmt.Errorf("read package (was npm ci run?): %w", err)
	}
	if err := json.Unmarshal(about, &entry); err != nil {
		return entry, nil, fmt.Errorf("read %s: %w", pkg, err)
	}
	content, err = os.ReadFile(filepath.Join(pkg, file))
	if err != nil {
		return entry, nil, fmt.Errorf("read package: %w", err)
	}
	sum := sha256.Sum256(content)
	entry.Package, entry.Name, entry.SHA256 = entry.Name, filepath.Base(file), hex.EncodeToString(sum[:])
	return entry, content, nil
}

// write leaves an equal file alone, so that the next go build has nothing to do.
func write(name string, content []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := os.WriteFile(name, content, 0o644); err != nil { //nolint:gosec // public by nature
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
