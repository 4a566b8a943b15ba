package rekey

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/seal"
	"mailer/db/engine"
)

// errForeignKey is the error of a master key file that lacks a key that it contained before.
var errForeignKey = errors.New("it lacks a key that was in it before")

// File is the master key file that a process follows. Its sealer uses the keys in the file as far
// as that is safe.
type File struct {
	Path   string
	Sealer *app.Sealer

	met     atomic.Bool // the sealer found a value sealed with an unknown or retired key
	changed base.Signal // signals to read the file now
	mu      sync.Mutex  // guards the fields below
	seen    os.FileInfo // state of the file when it was read; nil: read it again
}

// OpenFile reads the master key file, creates it if create is set and it does not exist, and
// returns it with the sealer of its keys.
func OpenFile(path string, create bool) (*File, error) {
	f := &File{Path: path, changed: base.NewSignal()}
	f.seen, _ = os.Stat(path) // missing or changed since: it is read again
	keys, err := engine.MasterKeys(path, create)
	if err != nil {
		return nil, err
	}
	if f.Sealer, err = app.NewSealer(keys...); err != nil {
		return nil, err
	}
	f.Sealer.Missing = f.missing
	return f, nil
}

// missing reads the file because the sealer found an unknown key, which another process may just
// have added.
func (f *File) missing() {
	f.met.Store(true)
	_, _ = f.follow(nil) // the worker logs errors
}

// Look makes the server read the file again and log its errors, changed or not.
func (f *File) Look() {
	f.mu.Lock()
	f.seen = nil
	f.mu.Unlock()
	f.changed.Notify()
}

// follow sets the sealer's keys to those of the file and reports whether they changed. A key is
// retired only if mayRetire allows it; with a nil mayRetire it keeps opening until a later call.
// Error: the file can't be read or lacks a key; the sealer keeps its keys.
func (f *File) follow(mayRetire func(retired []seal.MasterKey) error) (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := os.Stat(f.Path)
	if err == nil && same(f.seen, now) {
		return false, nil
	}
	f.seen = now // nil after an error
	if err != nil {
		return false, err
	}
	keys, err := engine.MasterKeys(f.Path, false)
	if err != nil {
		return false, err
	}
	return f.adopt(keys, mayRetire)
}

// same reports whether a file is unchanged. A replaced file counts as changed, whatever its times
// are.
func same(seen, now os.FileInfo) bool {
	return seen != nil && os.SameFile(seen, now) && seen.ModTime().Equal(now.ModTime()) && seen.Size() == now.Size()
}

func (f *File) adopt(keys []seal.MasterKey, mayRetire func([]seal.MasterKey) error) (changed bool, err error) {
	had := f.Sealer.Keys()
	var retired []seal.MasterKey
	for _, k := range had {
		at := indexOf(keys, k)
		switch {
		case at < 0 && !k.Retired:
			return false, errForeignKey
		case at >= 0 && keys[at].Retired && !k.Retired:
			retired = append(retired, keys[at])
		}
	}
	if len(retired) > 0 {
		if mayRetire == nil {
			f.seen = nil
			keys = revived(keys, retired)
		} else if err := mayRetire(retired); err != nil {
			f.seen = nil
			return false, err
		}
	}
	if slices.EqualFunc(had, keys, func(a, b seal.MasterKey) bool { return a.Retired == b.Retired && bytes.Equal(a.Key, b.Key) }) {
		return false, nil
	}
	if err := engine.SyncMasterKeys(f.Path); err != nil {
		f.seen = nil
		return false, err
	}
	return true, f.Sealer.SetKeys(keys)
}

// revived returns keys without the retired mark.
func revived(keys, retired []seal.MasterKey) []seal.MasterKey {
	keys = slices.Clone(keys)
	for i := range keys {
		keys[i].Retired = keys[i].Retired && indexOf(retired, keys[i]) < 0
	}
	return keys
}

func indexOf(keys []seal.MasterKey, k seal.MasterKey) int {
	return slices.IndexFunc(keys, func(other seal.MasterKey) bool { return bytes.Equal(other.Key, k.Key) })
}
