package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mailer/app/kit/platform"
)

// FileSizes are the sizes, in bytes, of the database file and its log, and the free space of its
// disk for users other than root. For PostgreSQL, File is the size of the database on its server,
// and DiskFree the free space of the disk of the working directory.
type FileSizes struct{ File, WAL, DiskFree int64 }

// FileSizes returns the sizes of the database and the free disk space.
func (d *DB) FileSizes() (FileSizes, error) { return d.engine.sizes(d) }

func (sqliteEngine) sizes(d *DB) (s FileSizes, err error) {
	file, err := os.Stat(d.path)
	if err != nil {
		return s, fmt.Errorf("look at the size of the database: %w", err)
	}
	s.File = file.Size()
	log, err := os.Stat(d.path + "-wal")
	switch {
	case err == nil:
		s.WAL = log.Size()
	case !errors.Is(err, os.ErrNotExist): // no log: nothing has it open
		return s, fmt.Errorf("look at the size of the database's log: %w", err)
	}
	s.DiskFree, err = DiskFree(filepath.Dir(d.path))
	return s, err
}

// DiskFree returns how many bytes are free on the disk of a directory, for users other than root.
func DiskFree(dir string) (int64, error) {
	free, err := platform.FreeSpace(dir)
	if err != nil {
		return 0, fmt.Errorf("ask for free space in %s: %w", dir, err)
	}
	return free, nil
}

// DiskSpace returns the free bytes, for users other than root, and the size of the disk of the files that belong to a
// database.
func DiskSpace(database string) (free, size int64, err error) {
	if free, err = DiskFree(Folder(database)); err != nil {
		return 0, 0, err
	}
	if size, err = platform.DiskSize(Folder(database)); err != nil {
		return 0, 0, fmt.Errorf("ask for the size of the disk of %s: %w", Folder(database), err)
	}
	return free, size, nil
}

// Space is what the pages of the database are used for, in bytes.
type Space struct {
	Tables map[string]int64 // with their indexes
	Free   int64            // unused pages
	Total  int64
}

// Page types in pointer maps (database file format, 1.8).
const (
	pageRoot = 1
	pageFree = 2
)

// Space returns what the pages of the database are used for. Its duration hardly depends on the
// size of the database, and it blocks no other operation.
func (d *DB) Space(ctx context.Context) (Space, error) { return d.engine.space(ctx, d) }

// space reads only the pointer maps, one page of 820, so that neither the size of the file nor
// concurrent writes matter much.
func (sqliteEngine) space(ctx context.Context, d *DB) (s Space, err error) {
	err = d.Read(ctx, func(r *Reader) (err error) {
		s, err = r.space()
		return err
	})
	return s, err
}

func (r *Reader) space() (s Space, err error) {
	var count, size int64
	if err := r.Row(`PRAGMA page_count`, nil, &count); err != nil {
		return s, err
	}
	if err := r.Row(`PRAGMA page_size`, nil, &size); err != nil {
		return s, err
	}
	s = Space{Tables: map[string]int64{}, Total: count * size}
	names, err := r.rootTables()
	if err != nil {
		return s, err
	}
	pages, err := r.pointers(count, size)
	if err != nil {
		return s, err
	}
	for n := int64(1); n <= count; n++ {
		switch root := pages.root(n); {
		case pages.kind[n] == pageFree:
			s.Free += size
		case names[root] != "":
			s.Tables[names[root]] += size
		default: // the schema, and the pointer maps
			s.Tables["sqlite"] += size
		}
	}
	return s, nil
}

// rootTables returns the table of each root page, including the root pages of indexes.
func (r *Reader) rootTables() (map[int64]string, error) {
	names := map[int64]string{}
	_, err := List(&r.Conn, func(s Scanner) (none struct{}, err error) {
		var name string
		var root int64
		err = s.Scan(&name, &root)
		names[root] = name
		return none, err
	}, `SELECT tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0`)
	return names, err
}

// pointers holds the type and the parent of every page.
type pointers struct {
	kind   []byte
	parent []uint32
}

// pointers reads the pointer maps.
func (r *Reader) pointers(count, size int64) (*pointers, error) {
	p := &pointers{kind: make([]byte, count+1), parent: make([]uint32, count+1)}
	for n := int64(2); n <= count; n++ {
		if !isPointerMap(n, size) {
			continue
		}
		var page []byte
		if err := r.Row(`SELECT data FROM sqlite_dbpage WHERE pgno = ?`, []any{n}, &page); err != nil {
			return nil, fmt.Errorf("read pointer map %d: %w", n, err)
		}
		for i := int64(0); 5*i+5 <= size && n+1+i <= count; i++ {
			p.kind[n+1+i], p.parent[n+1+i] = page[5*i], binary.BigEndian.Uint32(page[5*i+1:])
		}
		n += size/5 - 1 // skip to the next pointer map
	}
	return p, nil
}

// root returns the root page of the b-tree to which a page belongs; 0: none. It sets the root as
// the parent of the pages that it visits.
func (p *pointers) root(n int64) int64 {
	root := n
	for steps := 0; p.kind[root] > pageFree && steps < len(p.kind); steps++ {
		if root = int64(p.parent[root]); root >= int64(len(p.kind)) {
			return 0
		}
	}
	if p.kind[root] != pageRoot {
		return 0
	}
	for p.kind[n] > pageFree && n != root {
		n, p.parent[n] = int64(p.parent[n]), uint32(root)
	}
	return root
}

// isPointerMap reports whether a page is a pointer map (database file format, 1.8). A pointer map
// begins with bytes that could be those of a b-tree page. The first one is page 2, and each
// describes the pages that follow it. SQLite leaves the page at lockByte empty; a pointer map of
// that number moves to the next page.
func isPointerMap(number, size int64) bool {
	const lockByte, entry = 1 << 30, 5
	every := size/entry + 1
	at := (number-2)/every*every + 2
	if at == lockByte/size+1 {
		at++
	}
	return number > 1 && number == at
}
