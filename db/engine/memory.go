package engine

import (
	"context"
	"fmt"
)

// FreePages makes SQLite release the page caches of the writer and of the readers that are not in
// use. It waits for the writer until ctx ends. Errors: those of the store.
func (d *DB) FreePages(ctx context.Context) error {
	if d.path == "" {
		return nil // its caches are on the server
	}
	err := d.run(ctx, (*Conn).freePages)
	for _, r := range d.readers.takeUnused() {
		if err == nil && r.conn != nil {
			err = r.freePages()
		}
		d.readers.put(r)
	}
	if err != nil {
		return fmt.Errorf("free the pages in memory: %w", err)
	}
	return nil
}

func (s *Conn) freePages() error {
	_, err := s.Exec(`PRAGMA shrink_memory`)
	return err
}
