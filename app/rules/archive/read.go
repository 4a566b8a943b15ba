package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads a complete directory.
type Reader struct {
	Team   Team
	dir    string
	offset int64 // start of the last item, or before it
}

// ErrUnfinished means that a directory has no team.json: it is not an archive, or not complete.
var ErrUnfinished = errors.New("has no team.json: it is no export, or not a whole one")

// ErrBroken means that a file of a directory can't be read, now or later.
var ErrBroken = errors.New("a file of the directory is broken")

// ErrRefused means that the service refuses further reading to this user, now or later.
var ErrRefused = errors.New("the service refused this user")

// refused is a refusal by a service.
type refused struct{ error }

// Is implements errors.Is.
func (refused) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the answer itself.
func (r refused) Unwrap() error { return r.error }

// Refused returns err as an ErrRefused with the same text.
func Refused(err error) error { return refused{err} }

// broken is an error of a file.
type broken struct{ error }

// Is implements errors.Is.
func (broken) Is(target error) bool { return target == ErrBroken }

// Open opens a directory. Errors: ErrUnfinished; a newer format, or an unknown source.
func Open(dir string) (*Reader, error) {
	r := &Reader{dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, teamFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s %w", dir, ErrUnfinished)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", teamFile, err)
	}
	if err := json.Unmarshal(text, &r.Team); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, teamFile), err)
	}
	if r.Team.Format < 1 || r.Team.Format > Format {
		return nil, fmt.Errorf("%s is of format %d, and this Mailer reads format %d: update it", dir, r.Team.Format, Format)
	}
	if !slices.Contains(sources, r.Team.Source) {
		return nil, fmt.Errorf("%s names %.40q as its source, and this Mailer knows %s", filepath.Join(dir, teamFile), r.Team.Source, strings.Join(sources, ", "))
	}
	return r, nil
}

// Dir returns the path of the directory.
func (r *Reader) Dir() string { return r.dir }

// Each reads the items of a kind into item, a pointer to its type, which is cleared first, and
// calls take after each with its line, if each line has one item. A kind without a file has no
// items. An error of take is returned unchanged; an error of the file names file and item.
func (r *Reader) Each(kind Kind, item any, take func(line int) error) error {
	name := string(kind) + ".json"
	f, err := os.Open(filepath.Join(r.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer f.Close()
	d := jsontext.NewDecoder(bufio.NewReaderSize(f, buffered))
	if d.PeekKind() != '[' {
		return broken{fmt.Errorf("read %s: it does not begin with an array", name)}
	}
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	v := reflect.ValueOf(item).Elem()
	for n := 1; d.PeekKind() != ']'; n++ {
		v.SetZero()
		r.offset = d.InputOffset()
		if err := json.UnmarshalDecode(d, item); err != nil {
			return broken{fmt.Errorf("read %s, item %d: %w", name, n, shortened(err))}
		}
		if err := take(n + 1); err != nil {
			return err
		}
	}
	return nil
}

// Offset returns the offset of the last item that Each read, for Pick.
func (r *Reader) Offset() int64 { return r.offset }

// Picker reads items of a kind again in any order.
type Picker struct {
	name   string
	f      *os.File
	buffer []byte
}

// Pick opens a Picker for items of a kind, which must be on one line each.
func (r *Reader) Pick(kind Kind) (*Picker, error) {
	name := string(kind) + ".json"
	f, err := os.Open(filepath.Join(r.dir, name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return &Picker{name: name, f: f, buffer: make([]byte, 1<<10)}, nil
}

// Close closes the file.
func (p *Picker) Close() error { return p.f.Close() }

// Read reads the item at an offset into item, a pointer to its type, which is cleared first.
func (p *Picker) Read(offset int64, item any) error {
	for {
		n, err := p.f.ReadAt(p.buffer, offset)
		if err != nil && err != io.EOF {
			return fmt.Errorf("read %s: %w", p.name, err)
		}
		text := bytes.TrimLeft(p.buffer[:n], ",[\r\n\t ")
		line, _, whole := bytes.Cut(text, []byte("\n"))
		if !whole && err == nil {
			p.buffer = make([]byte, 4*len(p.buffer))
			continue
		}
		reflect.ValueOf(item).Elem().SetZero()
		if err := json.Unmarshal(bytes.TrimRight(line, ",\r\t "), item); err != nil {
			return broken{fmt.Errorf("read %s at %d: %w", p.name, offset, err)}
		}
		return nil
	}
}

// shortened returns a clearer error for a truncated file.
func shortened(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the file ends in the middle of it")
	}
	return err
}
