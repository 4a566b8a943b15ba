package rest

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"mailer/app"
)

// FormType is the media type of forms with files.
const FormType = "multipart/form-data"

// maxPartHeader bounds the header of each part, in bytes; package multipart allows 10 MB.
const maxPartHeader = 64 << 10

// headLimit reads a form and fails if a part's header is too long.
type headLimit struct {
	body io.Reader
	head int // remaining bytes; negative: not in a header
}

var errLongHead = errors.New("the head of a part is too long")

// Read implements io.Reader.
func (l *headLimit) Read(p []byte) (int, error) {
	if l.head == 0 {
		return 0, errLongHead
	}
	if l.head > 0 {
		p = p[:min(len(p), l.head)]
	}
	n, err := l.body.Read(p)
	if l.head > 0 {
		l.head -= n
	}
	return n, err
}

// FormBoundary returns the boundary of a body of FormType. Error: CodeInvalidPayload for another
// body.
func FormBoundary(head http.Header) (string, error) {
	media, params, err := mime.ParseMediaType(head.Get("Content-Type"))
	if err != nil || media != FormType || params["boundary"] == "" {
		return "", app.Errorf(app.CodeInvalidPayload, "The request needs a body of multipart/form-data")
	}
	return params["boundary"], nil
}

// ReadForm calls take for each part of a form, in their order, and returns the names of the parts.
// Errors: those of take; CodeInvalidPayload; CodeValidation for a name that occurs twice.
func ReadForm(body io.Reader, boundary string, take func(name string, part *multipart.Part) error) (seen map[string]bool, err error) {
	seen = map[string]bool{}
	limit := &headLimit{body: body}
	parts := multipart.NewReader(limit, boundary)
	for {
		limit.head = maxPartHeader
		part, err := parts.NextRawPart()
		limit.head = -1
		if err == io.EOF { // wrapped, it would mean a truncated form
			break
		}
		if err != nil {
			return nil, badForm()
		}
		name := part.FormName()
		if seen[name] {
			return nil, app.Invalid(MemberName(name), "is there more than once")
		}
		seen[name] = true
		if err := take(name, part); err != nil {
			return nil, err
		}
	}
	_, err = io.Copy(io.Discard, body) // an epilogue after the last part
	return seen, err
}

func badForm() error {
	return app.Errorf(app.CodeInvalidPayload, "The request body is not valid multipart/form-data")
}

// CopyPart copies a part of a form. It returns an error of w unchanged.
func CopyPart(w io.Writer, part io.Reader) error {
	kept := &writeErrorKeeper{w: w}
	_, err := io.Copy(kept, part)
	if kept.err != nil {
		return kept.err
	}
	if err != nil {
		return badForm()
	}
	return nil
}

// writeErrorKeeper keeps the error of a writer, to distinguish it from errors of reading.
type writeErrorKeeper struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (k *writeErrorKeeper) Write(p []byte) (n int, err error) {
	n, k.err = k.w.Write(p)
	return n, k.err
}
