package audience

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"mailer/app"
)

// FuzzImportForm reads any bytes as the form of an import: what is refused is the
// caller's mistake, and what is taken had a file.
func FuzzImportForm(f *testing.F) {
	const part = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nemail\na@b.example\n\r\n"
	for _, seed := range []string{
		part + "--x--\r\n", part, part + part + "--x--", "--x--", "", "--x\r\n\r\n\r\n--x--",
		part + "--x\r\nContent-Disposition: form-data; name=column_map\r\n\r\n{\"email\":{\"column\":1}}\r\n--x--",
		part + "--x\r\nContent-Disposition: form-data; name=segments\r\n\r\n[{\"id\":[]}]\r\n--x--\r\nmore",
		"--x\r\n" + strings.Repeat("A: b\r\n", 2000) + "\r\n\r\n--x--",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var file bytes.Buffer
		_, err := readImport(bytes.NewReader(body), "x", &file)
		var refusal *app.Error
		switch {
		case err == nil && !bytes.Contains(body, []byte("file")):
			t.Errorf("%q is taken", body)
		case err != nil && !errors.As(err, &refusal) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Errorf("%q gives %v", body, err)
		}
		if file.Len() > len(body) {
			t.Errorf("%d bytes of file of %d", file.Len(), len(body))
		}
	})
}
