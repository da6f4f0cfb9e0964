package simulator

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
)

// readMail takes subject, Message-ID and plain text out of a message. A broken one is kept as it came.
func readMail(raw []byte) mail {
	message, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return mail{Body: cleanText(raw)}
	}
	words := mime.WordDecoder{}
	subject, err := words.DecodeHeader(message.Header.Get("Subject"))
	if err != nil {
		subject = message.Header.Get("Subject")
	}
	head := partHeader{kind: message.Header.Get("Content-Type"), encoding: message.Header.Get("Content-Transfer-Encoding")}
	return mail{
		Subject: cleanText([]byte(subject)), MessageID: message.Header.Get("Message-ID"), Body: plainText(head, message.Body, 0),
	}
}

type partHeader struct{ kind, encoding string }

const deepestPart = 5

// plainText finds the first text/plain part, or else the first part.
func plainText(head partHeader, body io.Reader, depth int) string {
	kind, params, err := mime.ParseMediaType(head.kind)
	if err != nil || !strings.HasPrefix(kind, "multipart/") || depth > deepestPart {
		return decodePart(head.encoding, body)
	}
	fallback := ""
	reader := multipart.NewReader(body, params["boundary"])
	for {
		part, err := reader.NextRawPart()
		if err != nil {
			return fallback
		}
		inner := partHeader{kind: part.Header.Get("Content-Type"), encoding: part.Header.Get("Content-Transfer-Encoding")}
		text := plainText(inner, part, depth+1)
		if inner.kind == "" || strings.HasPrefix(strings.ToLower(inner.kind), "text/plain") ||
			strings.HasPrefix(strings.ToLower(inner.kind), "multipart/") && text != "" {
			return text
		}
		if fallback == "" {
			fallback = text
		}
	}
}

func decodePart(encoding string, body io.Reader) string {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	data, _ := io.ReadAll(body) // what could be read is shown
	return cleanText(data)
}

func cleanText(data []byte) string {
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\x00", "\uFFFD")
}
