// Package webtest holds the API's answers against its description, web/openapi.yaml. Any test that speaks to onefold over HTTP
// can put it between itself and the server:
//
//	client := &http.Client{Transport: webtest.Validator(t)}
package webtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// Transport fails its test for every answer under /api, /webhooks, /healthz and /readyz that the description doesn't allow:
// status, headers, content type, every member. The answer itself is passed on as it came.
type Transport struct {
	Next http.RoundTripper // nil means http.DefaultTransport

	t      testing.TB
	router routers.Router
}

// Validator makes a Transport. It may be used by many goroutines.
func Validator(t testing.TB) *Transport {
	t.Helper()
	router, err := strict()
	if err != nil {
		t.Fatalf("webtest: %v", err)
	}
	return &Transport{t: t, router: router}
}

// RoundTrip implements http.RoundTripper.
func (v *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := v.Next
	if next == nil {
		next = http.DefaultTransport
	}
	answer, err := next.RoundTrip(r)
	if err != nil || !described(r.URL.Path) || r.Method == http.MethodHead {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if err := v.check(r, answer, body); err != nil {
		v.t.Errorf("%s %s answered %d against its description: %v\n%.2000s", r.Method, r.URL.Path, answer.StatusCode, err, body)
	}
	return answer, nil
}

func described(path string) bool {
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/webhooks/") || path == "/healthz" || path == "/readyz"
}

func (v *Transport) check(r *http.Request, answer *http.Response, body []byte) error {
	route, params, err := v.router.FindRoute(r)
	if err != nil {
		return undescribed(answer)
	}
	// Bodies are often odd on purpose, so that only answers are checked; hence the request is given without one.
	bare := r.Clone(r.Context())
	bare.Body = http.NoBody
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: bare, PathParams: params, Route: route},
		Status:                 answer.StatusCode, Header: answer.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, MultiError: true, SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.DisableSchemaErrorDetails()},
		},
	})
}

// undescribed is the rule for calls that don't exist: they are refused as a problem, and nothing else.
func undescribed(answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestEntityTooLarge:
		if answer.Header.Get("Content-Type") == "application/problem+json" && answer.Header.Get("Trace-Id") != "" {
			return nil
		}
	}
	return errors.New("the call is not described")
}

// Description reads web/openapi.yaml and proves that it is valid OpenAPI.
func Description() (*openapi3.T, error) {
	file, err := find("web/openapi.yaml")
	if err != nil {
		return nil, err
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", file, err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, fmt.Errorf("validate %s: %w", file, err)
	}
	return doc, nil
}

// find looks for a file of the tree in the folder of the running test and above it.
func find(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("%s is not above the test", name)
		}
		dir = filepath.Dir(dir)
	}
}

// strict routes by the description as tests want it: clients must expect members that they don't know, tests must not find any.
var strict = sync.OnceValues(func() (routers.Router, error) {
	doc, err := Description()
	if err != nil {
		return nil, err
	}
	for _, schema := range doc.Components.Schemas {
		seal(schema.Value)
	}
	doc.Servers = nil // whatever address the server under test has
	router, err := legacy.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("route by the description: %w", err)
	}
	return router, nil
})

// seal forbids members that a schema and what it contains don't name.
func seal(s *openapi3.Schema) {
	if len(s.Properties) > 0 {
		no := false
		s.AdditionalProperties.Has = &no
	}
	for _, member := range s.Properties {
		seal(member.Value)
	}
	if s.Items != nil {
		seal(s.Items.Value)
	}
}
