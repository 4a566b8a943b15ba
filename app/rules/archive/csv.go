package archive

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// Sheets writes CSV files in addition to JSON, for people and spreadsheets. They are never read
// back. It is for one goroutine. Properties, segments and topics must be put before objects that
// refer to them.
type Sheets struct {
	dir        string
	files      map[Kind]*sheet
	properties []string          // keys in the order of columns
	names      map[string]string // of segments and topics by id
}

// sheet is a file being written.
type sheet struct {
	f     *os.File
	lines bytes.Buffer // not written yet
	w     *csv.Writer
	cells []string
}

// NewSheets starts the CSV files of an existing directory.
func NewSheets(dir string) *Sheets {
	return &Sheets{dir: dir, files: map[Kind]*sheet{}, names: map[string]string{}}
}

// Put appends the rows of an item to the sheet of its kind. Kinds without a sheet are ignored.
func (s *Sheets) Put(kind Kind, item any) error {
	for _, row := range s.rows(item) {
		f := s.files[kind]
		if f == nil {
			var err error
			if f, err = s.begin(kind, item); err != nil {
				return err
			}
		}
		if err := f.put(row); err != nil {
			return fmt.Errorf("write %s.csv: %w", kind, err)
		}
	}
	return nil
}

// begin creates a file with its headings.
func (s *Sheets) begin(kind Kind, item any) (*sheet, error) {
	made, err := os.OpenFile(filepath.Join(s.dir, string(kind)+".csv"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file: %w", err)
	}
	f := &sheet{f: made}
	f.w = csv.NewWriter(&f.lines)
	s.files[kind] = f
	var head []any
	for _, name := range s.headings(item) {
		head = append(head, name)
	}
	return f, f.put(head)
}

// put writes a line ended by CRLF (RFC 4180). The csv.Writer's own option would also change line
// ends within cells.
func (f *sheet) put(row []any) error {
	f.cells = f.cells[:0]
	for _, v := range row {
		f.cells = append(f.cells, cell(v))
	}
	if err := f.w.Write(f.cells); err != nil {
		return err
	}
	f.w.Flush()
	if err := f.w.Error(); err != nil {
		return err
	}
	f.lines.Truncate(f.lines.Len() - 1)
	f.lines.WriteString("\r\n")
	if f.lines.Len() < buffered {
		return nil
	}
	return f.flush()
}

func (f *sheet) flush() error {
	_, err := f.lines.WriteTo(f.f)
	return err
}

// Close closes all sheets.
func (s *Sheets) Close() error {
	var all error
	for kind, f := range s.files {
		if err := errors.Join(f.flush(), f.f.Close()); err != nil {
			all = errors.Join(all, fmt.Errorf("write %s.csv: %w", kind, err))
		}
	}
	s.files = map[Kind]*sheet{}
	return all
}

// formulaStarts are characters that begin a formula in spreadsheets: also in full width, and after
// white space that is removed.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// EscapeFormula returns a text that spreadsheets show and do not compute.
func EscapeFormula(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD") // as in JSON
	}
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune(formulaStarts, first) {
		text = "'" + text
	}
	return escapeInner(text)
}

// separators are characters that a spreadsheet may use as separator instead of the comma: in many
// languages the semicolon. It ignores quotes then.
const separators = ";\t\r\n"

// escapeInner escapes formulas after a possible separator.
func escapeInner(text string) string {
	if !strings.ContainsAny(text, separators) {
		return text
	}
	var out strings.Builder
	for {
		n := strings.IndexAny(text, separators)
		if n < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:n+1])
		text = text[n+1:]
		begins := strings.TrimLeft(text, " ")
		out.WriteString(text[:len(text)-len(begins)])
		if text = begins; isFormula(text) {
			out.WriteByte('\'')
		}
	}
}

// isFormula reports whether a text begins with a formula. After a sign, a function or another
// program must be called: an emoticon or a list item is not a formula.
func isFormula(text string) bool {
	switch first, _ := utf8.DecodeRuneInString(text); first {
	case '=', '@', '＝', '＠':
		return true
	case '+', '-', '＋', '－':
		end := strings.IndexAny(text, separators)
		if end < 0 {
			end = len(text)
		}
		return strings.ContainsAny(text[:end], "(|!")
	}
	return false
}

// cell returns a value as CSV: texts without formulas, numbers as in JSON, absent values empty,
// several texts as a list, others as JSON.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return EscapeFormula(v)
	case *string:
		if v == nil {
			return ""
		}
		return EscapeFormula(*v)
	case []string:
		var list strings.Builder
		for i, text := range v {
			if i > 0 {
				list.WriteString("; ")
			}
			list.WriteString(EscapeFormula(text))
		}
		return list.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return app.FormatTime(v)
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if text := string(b); err == nil && text != "null" && text != "{}" && text != "[]" {
		return text
	}
	return ""
}

// Kinds returns all kinds in the order of import.
func Kinds() []Kind { return kinds }
