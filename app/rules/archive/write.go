package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
)

const (
	teamFile    = "team.json"
	readingFile = "reading.json"
	buffered    = 64 << 10 // buffer size of a file
)

// Writer writes a directory item by item. It is for one goroutine.
type Writer struct {
	dir       string
	files     map[Kind]*file
	documents bool // an item is not plain
}

// file is an array being written.
type file struct {
	f      *os.File
	buffer *bufio.Writer
	size   int64 // bytes, including the buffer
	synced int64 // bytes that are certainly on disk
	items  int
}

// reading is reading.json: how far a source was read.
type reading struct {
	Cursor string         `json:"cursor"`
	Files  map[Kind]point `json:"files"`
}

type point struct {
	Size  int64 `json:"size"`
	Items int   `json:"items"`
}

// ErrNotEmpty means that the directory is not empty.
var ErrNotEmpty = errors.New("the directory is not empty")

// Create creates a directory, or uses an empty one, and restricts it to its owner. Error:
// ErrNotEmpty.
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory: %w", err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look into the directory: %w", err)
	}
	if len(there) > 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	return &Writer{dir: dir, files: map[Kind]*file{}}, nil
}

// Resume continues a directory from its last Mark and returns the marked cursor. Without a mark it
// starts again and returns "".
func Resume(dir string) (w *Writer, cursor string, err error) {
	var state reading
	text, err := os.ReadFile(filepath.Join(dir, readingFile))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil { // nothing to continue
		if err := os.RemoveAll(dir); err != nil {
			return nil, "", fmt.Errorf("clear the directory: %w", err)
		}
		w, err = Create(dir)
		return w, "", err
	}
	w = &Writer{dir: dir, files: map[Kind]*file{}}
	for _, kind := range kinds {
		if _, marked := state.Files[kind]; marked {
			continue
		}
		if err := os.Remove(w.path(kind)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, "", fmt.Errorf("remove an incomplete file: %w", err)
		}
	}
	for kind, at := range state.Files {
		if err := w.reopen(kind, at); err != nil {
			w.Close()
			return nil, "", err
		}
	}
	return w, state.Cursor, nil
}

// HasMark reports whether a directory is unfinished and can be continued.
func HasMark(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, readingFile))
	return err == nil
}

// reopen truncates a file to its marked size.
func (w *Writer) reopen(kind Kind, at point) error {
	f, err := os.OpenFile(w.path(kind), os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("continue a file: %w", err)
	}
	w.files[kind] = &file{f: f, buffer: bufio.NewWriterSize(f, buffered), size: at.Size, synced: at.Size, items: at.Items}
	if err := f.Truncate(at.Size); err != nil {
		return fmt.Errorf("cut a file: %w", err)
	}
	if _, err := f.Seek(at.Size, io.SeekStart); err != nil {
		return fmt.Errorf("continue a file: %w", err)
	}
	return nil
}

func (w *Writer) path(kind Kind) string { return filepath.Join(w.dir, string(kind)+".json") }

// Dir returns the path of the directory.
func (w *Writer) Dir() string { return w.dir }

// Put appends an item, one of the types of this package, to the file of its kind.
func (w *Writer) Put(kind Kind, item any) error {
	w.documents = w.documents || !isPlain(item)
	f := w.files[kind]
	if f == nil {
		made, err := os.OpenFile(w.path(kind), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("make a file: %w", err)
		}
		f = &file{f: made, buffer: bufio.NewWriterSize(made, buffered)}
		w.files[kind] = f
	}
	text, err := json.Marshal(item, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode an item of %s: %w", kind, err)
	}
	lead := ",\n"
	if f.items == 0 {
		lead = "[\n"
	}
	f.items++
	f.size += int64(len(lead) + len(text))
	if _, err := f.buffer.WriteString(lead); err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	if _, err := f.buffer.Write(text); err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	return nil
}

// Count returns the number of items of a kind.
func (w *Writer) Count(kind Kind) int {
	if f := w.files[kind]; f != nil {
		return f.items
	}
	return 0
}

// Mark records that everything up to a cursor of the source was written, so that Resume continues
// from it, even after a power cut.
func (w *Writer) Mark(cursor string) error {
	state := reading{Cursor: cursor, Files: map[Kind]point{}}
	for kind, f := range w.files {
		if f.synced < f.size {
			if err := f.sync(); err != nil {
				return fmt.Errorf("write %s: %w", kind, err)
			}
		}
		state.Files[kind] = point{f.size, f.items}
	}
	return w.put(readingFile, &state)
}

func (f *file) sync() error {
	if err := f.buffer.Flush(); err != nil {
		return err
	}
	if err := f.f.Sync(); err != nil {
		return err
	}
	f.synced = f.size
	return nil
}

// put writes a small file atomically.
func (w *Writer) put(name string, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	f, err := os.CreateTemp(w.dir, "."+name+"*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(w.dir, name))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(f.Name()))
	}
	return nil
}

// isPlain reports whether Mailers that read plainFormat read all of an item.
func isPlain(item any) bool {
	switch v := item.(type) {
	case *Template:
		return v.plain() && (v.Published == nil || v.Published.plain())
	case *Broadcast:
		return v.plain()
	}
	return true
}

// Finish closes all files and writes team.json, which makes the directory complete.
func (w *Writer) Finish(team *Team) error {
	if team.Format = plainFormat; w.documents {
		team.Format = Format
	}
	for kind, f := range w.files {
		_, err := f.buffer.WriteString("\n]\n")
		if err = errors.Join(err, f.sync(), f.f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", kind, err)
		}
	}
	w.files = map[Kind]*file{}
	if err := w.put(teamFile, team); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(w.dir, readingFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", readingFile, err)
	}
	return nil
}

// Close closes the files of an unfinished directory. Items since the last Mark are lost.
func (w *Writer) Close() {
	for _, f := range w.files {
		_ = f.f.Close() // marked data is synced
	}
	w.files = nil
}
