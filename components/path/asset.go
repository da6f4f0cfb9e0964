package path

import "sync/atomic"

//nolint:gochecknoglobals // set once at start, by the only package that knows the embedded files
var resolve atomic.Pointer[func(name string) string]

// ResolveAssets sets how Asset finds the address of a built file, e.g. "app.css" → "/assets/app.3f2a9c.css".
// Call it once, before the first page is rendered.
func ResolveAssets(f func(name string) string) { resolve.Store(&f) }

// Asset is the address of a static file by its plain name: "app.css", "app.js", "htmx.min.js", "icons.svg".
// Without a resolver it is "/assets/" + name; "" means the file is not built in.
func Asset(name string) string {
	if f := resolve.Load(); f != nil {
		return (*f)(name)
	}
	return "/assets/" + name
}
