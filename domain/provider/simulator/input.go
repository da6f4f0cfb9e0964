package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"onefold/domain/money"
)

const (
	bodyLimit      = 256 << 10
	referenceLimit = 255
	textLimit      = 500
	urlLimit       = 2048
	metadataLimit  = 50
)

var (
	keyForm  = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
	hostForm = regexp.MustCompile(`^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.\-]+)(:[0-9]+)?$`)
)

// readBody reads a JSON body into target. The hash is over the value, so white space and member order don't count.
func readBody(w http.ResponseWriter, r *http.Request, target any) (hash string, p *problem) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return "", newProblem(http.StatusRequestEntityTooLarge, "too_large", "The body is larger than 256 KiB.")
	}
	if err != nil {
		return "", invalid(fieldError{"body", "readable", "The body could not be read."})
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil || decoder.More() || !utf8.Valid(raw) {
		return "", invalid(fieldError{"body", "json", "The body is not one JSON value in UTF-8."})
	}
	if err := json.Unmarshal(raw, target); err != nil {
		return "", invalid(fieldError{fieldOf(err), "form", err.Error()})
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return "", invalid(fieldError{"body", "json", err.Error()})
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

func fieldOf(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return wrong.Field
	}
	return "body"
}

// readKey returns the Idempotency-Key, "" when there is none and it is optional.
func readKey(r *http.Request, required bool) (string, *problem) {
	values := r.Header.Values("Idempotency-Key")
	switch {
	case len(values) == 0 && required:
		return "", invalid(fieldError{"Idempotency-Key", "required", "This call needs an Idempotency-Key header."})
	case len(values) == 0:
		return "", nil
	case len(values) > 1 || !keyForm.MatchString(values[0]):
		return "", invalid(fieldError{"Idempotency-Key", "visible_ascii_1_255", "Send one key of 1 to 255 visible ASCII characters."})
	}
	return values[0], nil
}

// traceOf returns the trace ID of a W3C traceparent header, "" when absent or malformed.
func traceOf(r *http.Request) string {
	parts := strings.Split(r.Header.Get("traceparent"), "-")
	if len(parts) < 4 || len(parts[1]) != 32 {
		return ""
	}
	if _, err := hex.DecodeString(parts[1]); err != nil {
		return ""
	}
	return parts[1]
}

// rules collects the broken rules of an input.
type rules []fieldError

func (b *rules) must(ok bool, field, rule, message string) {
	if !ok {
		*b = append(*b, fieldError{field, rule, message})
	}
}

func (b *rules) text(value, field string, limit int, required bool) {
	b.must(value != "" || !required, field, "required", "Give a value.")
	b.must(len(value) <= limit, field, fmt.Sprintf("max=%d", limit), "The value is too long.")
	b.must(!strings.ContainsFunc(value, unicode.IsControl), field, "printable", "No control characters.")
}

func (b *rules) money(amount wireMoney, field string) money.Amount {
	b.must(money.Valid(amount.Currency), field+".currency", "iso4217", "Use a known currency code.")
	parsed, err := money.Parse(amount.Amount, amount.Currency)
	if err != nil {
		b.must(!money.Valid(amount.Currency), field+".amount", "decimal", "Use a plain decimal number with the currency's own digits.")
		return money.Amount{}
	}
	b.must(parsed.Minor > 0, field+".amount", "positive", "The amount must be above zero.")
	return parsed
}

func (b *rules) link(value, field string) {
	parsed, err := url.Parse(value)
	b.must(err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && hostForm.MatchString(parsed.Host),
		field, "url", "Give a full http or https address.")
	b.must(len(value) <= urlLimit, field, "max=2048", "The address is too long.")
}

func (b *rules) problem() *problem {
	if len(*b) == 0 {
		return nil
	}
	return invalid(*b...)
}

// wireMoney is money before its rules are looked at, so that an error can name the member.
type wireMoney struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}
