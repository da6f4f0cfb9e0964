// Package static holds what browsers load: our own styles, script and icons, and the third-party script that `make assets`
// fetches. Everything is embedded; addresses carry a hash of the content, so a browser may keep a file for ever.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// Prefix begins the address of every file.
const Prefix = "/assets/"

// Manifest lists the third-party files in dist; before `make assets` there is none.
const Manifest = "manifest.json"

// ThirdParty is a line of the manifest.
type ThirdParty struct {
	Name    string `json:"name"` // of the file, as Path takes it
	Package string `json:"package"`
	Version string `json:"version"`
	License string `json:"license"`
	SHA256  string `json:"sha256"`
}

//go:embed css/*.css js/*.js *.svg
var own embed.FS

//go:embed all:dist
var fetched embed.FS

type file struct {
	content, gz []byte
	contentType string
}

type index struct {
	paths map[string]string // name → address
	files map[string]file   // address → file
}

// Path returns the address of a file by its name without folders, e.g. "app.css" → "/assets/app.3f2a91c0b7d4.css"; "" when the
// file is absent, which only happens to third-party files.
func Path(name string) string { return load().paths[name] }

// Lookup returns the file at an address. gz is its gzip form, nil if that is no smaller. Unknown address: ok is false.
func Lookup(address string) (content, gz []byte, contentType string, ok bool) {
	f, ok := load().files[address]
	return f.content, f.gz, f.contentType, ok
}

// HasScripts reports that htmx is built in. Without it the pages still work, as pages.
func HasScripts() bool { return Path("htmx.min.js") != "" }

// load runs once; hashing and packing some 200 kB takes milliseconds. A fault in embedded files is a fault of the build.
var load = sync.OnceValue(func() index {
	i := index{paths: map[string]string{}, files: map[string]file{}}
	must(fs.WalkDir(own, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return i.add(own, name)
	}))
	list, err := fs.ReadFile(fetched, "dist/"+Manifest)
	if err != nil {
		return i // not fetched
	}
	var manifest []ThirdParty
	must(json.Unmarshal(list, &manifest))
	for _, entry := range manifest {
		must(i.add(fetched, "dist/"+entry.Name))
	}
	return i
})

func must(err error) {
	if err != nil {
		panic(fmt.Errorf("static: %w", err))
	}
}

func (i index) add(from fs.FS, name string) error {
	content, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	f := file{content: content}
	ext := path.Ext(name)
	switch ext {
	case ".css":
		f.contentType = "text/css; charset=utf-8"
	case ".js":
		f.contentType = "text/javascript; charset=utf-8"
	case ".svg":
		f.contentType = "image/svg+xml"
	default:
		return fmt.Errorf("%s: no content type for this kind of file", name)
	}
	if f.gz, err = pack(content); err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	base := path.Base(name)
	address := Prefix + strings.TrimSuffix(base, ext) + "." + hex.EncodeToString(sum[:6]) + ext
	i.paths[base], i.files[address] = address, f
	return nil
}

func pack(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil || out.Len() >= len(content) {
		return nil, err
	}
	return out.Bytes(), nil
}
