package sdktest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"
	"testing"
)

var wordDecoder mime.WordDecoder

// parsed reads the message; one that can't be read has an empty header.
func (m *message) parsed() *mail.Message {
	p, err := mail.ReadMessage(bytes.NewReader(m.Raw))
	if err != nil {
		return &mail.Message{Header: mail.Header{}, Body: strings.NewReader("")}
	}
	return p
}

// leaf is a part of a message that holds no further parts.
type leaf struct {
	contentType string
	filename    string
	contentID   string // without its angle brackets
	body        []byte
}

// leaves walks the parts of a message.
func (m *message) leaves(t *testing.T) []leaf {
	t.Helper()
	p := m.parsed()
	out, err := walkParts(textproto.MIMEHeader(p.Header), p.Body)
	if err != nil {
		t.Fatalf("MIME: %v\n%s", err, m.Raw)
	}
	return out
}

func walkParts(h textproto.MIMEHeader, body io.Reader) ([]leaf, error) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("content type %q: %w", h.Get("Content-Type"), err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		data, err := decodePart(h.Get("Content-Transfer-Encoding"), body)
		_, disposition, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
		return []leaf{{contentType: kind, filename: disposition["filename"], contentID: strings.Trim(h.Get("Content-ID"), "<>"), body: data}}, err
	}
	var out []leaf
	for r := multipart.NewReader(body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		inner, err := walkParts(part.Header, part)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
}

func decodePart(encoding string, body io.Reader) ([]byte, error) {
	switch strings.ToLower(encoding) {
	case "base64":
		return io.ReadAll(base64.NewDecoder(base64.StdEncoding, body))
	case "quoted-printable":
		return io.ReadAll(quotedprintable.NewReader(body))
	default:
		return io.ReadAll(body)
	}
}

// content is the body of the first part of a type that is no attachment.
func content(parts []leaf, kind string) string {
	for _, p := range parts {
		if p.contentType == kind && p.filename == "" {
			return strings.TrimRight(strings.ReplaceAll(string(p.body), "\r\n", "\n"), "\n")
		}
	}
	return ""
}

// file is the attachment of a name.
func file(t *testing.T, parts []leaf, name string) leaf {
	t.Helper()
	for _, p := range parts {
		if p.filename == name {
			return p
		}
	}
	t.Errorf("no attachment %q in the message", name)
	return leaf{}
}
