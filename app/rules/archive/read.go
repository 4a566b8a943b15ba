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

// Reader reads a directory that is whole.
type Reader struct {
	Team   Team
	dir    string
	offset int64 // where the item that was read last began, or before
}

// ErrUnfinished: a directory lacks team.json, so that it is none of ours or not whole.
var ErrUnfinished = errors.New("has no team.json: it is no export, or not a whole one")

// ErrBroken: a file of a directory can't be read; it would be broken the next time too.
var ErrBroken = errors.New("a file of the directory is broken")

// ErrRefused: the service lets this user not read on; it would refuse the next time too.
var ErrRefused = errors.New("the service refused this user")

// refused is an answer of a service.
type refused struct{ error }

// Is implements errors.Is.
func (refused) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the answer itself.
func (r refused) Unwrap() error { return r.error }

// Refused makes of an error one that is ErrRefused too, in the same words.
func Refused(err error) error { return refused{err} }

// broken is what is wrong with a file.
type broken struct{ error }

// Is implements errors.Is.
func (broken) Is(target error) bool { return target == ErrBroken }

// Open looks at a directory. Errors: ErrUnfinished; a format that is newer than this
// program, or a source that is none.
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

// Dir is where the directory is.
func (r *Reader) Dir() string { return r.dir }

// Each reads the items of a kind one after the other into item, a pointer to its type,
// which is emptied first, and calls take after each with the line on which it stands,
// where a line holds one item. A kind without a file has none. An error of take ends it
// and comes back as it is; one of the file names file and item.
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

// Offset is where the item stands in its file that Each read last, in bytes: Pick finds
// it there again.
func (r *Reader) Offset() int64 { return r.offset }

// Picker reads items of a kind again, in any order.
type Picker struct {
	name   string
	f      *os.File
	buffer []byte
}

// Pick begins to read items of a kind again, each of which stands on one line.
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

// Read reads the item at an offset into item, a pointer to its type, which is emptied
// first.
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

// shortened words the end of a file that is cut off.
func shortened(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the file ends in the middle of it")
	}
	return err
}
