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

// errForeignKey says that a master key file lacks a key that was read from it before.
var errForeignKey = errors.New("it lacks a key that was in it before")

// File is the file of the master key as a process follows it: the keys of its sealer
// are those that stand there, as far as that is safe.
type File struct {
	Path   string
	Sealer *app.Sealer

	met     atomic.Bool // the sealer met a value whose key does not open, or not any more
	changed base.Signal // look now
	mu      sync.Mutex  // of what follows
	seen    os.FileInfo // of the file as it was read last; nil: it is to be read again
}

// OpenFile reads the file of the master key, which it makes where create is set and
// there is none, and makes the sealer of its keys.
func OpenFile(path string, create bool) (*File, error) {
	f := &File{Path: path, changed: base.NewSignal()}
	f.seen, _ = os.Stat(path) // not there, or changed meanwhile: it is read again
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

// missing reads the file for a sealer that met a key which it does not have: another
// process added it a moment ago.
func (f *File) missing() {
	f.met.Store(true)
	_, _ = f.follow(nil) // what is wrong with it the worker says
}

// Look has a server read the file again, and say what is wrong with it, whether it seems
// to have changed or not.
func (f *File) Look() {
	f.mu.Lock()
	f.seen = nil
	f.mu.Unlock()
	f.changed.Notify()
}

// follow sets the sealer's keys to those that the file holds, if that changed, and reports
// whether it did. A key ends only where mayRetire says so; nil: it goes on opening
// until the next call that can tell. Error: the file can't be read or lacks a key, and
// the sealer keeps those that it has.
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

// same reports whether a file is still the one that was seen. A file that is replaced
// is another one, whatever its times are.
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

// revived are keys without the mark of those that were retired.
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
