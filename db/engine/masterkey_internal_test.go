package engine

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/kit/seal"
)

func keyLine(mark string) string {
	return mark + base64.StdEncoding.EncodeToString(seal.NewMasterKey()) + "\n"
}

func FuzzMasterKeys(f *testing.F) {
	twice := keyLine("")
	for _, text := range []string{"", "\n\n", keyLine(""), keyLine("") + keyLine(""), keyLine("") + keyLine(retiredMark), keyLine(retiredMark), twice + twice,
		" " + strings.TrimSpace(keyLine("")) + "\r\n\n" + keyLine(retiredMark+" "), "retired", "AAAA\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, flaw := parseMasterKeys(text)
		if flaw != "" {
			if keys != nil {
				t.Fatalf("keys of a file that %s", flaw)
			}
			return
		}
		if _, err := app.NewSealer(keys...); err != nil {
			t.Fatal(err)
		}
		if again, flaw := parseMasterKeys(masterKeysText(keys)); flaw != "" || !reflect.DeepEqual(again, keys) {
			t.Fatalf("written and read again: %s", flaw)
		}
	})
}

func TestChangeMasterKeysIsSerialized(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mailer.db.key")
	first, err := MasterKeys(path, true)
	must(t, err)
	must(t, os.Chmod(path, 0o640))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := ChangeMasterKeys(path, func(keys []seal.MasterKey) ([]seal.MasterKey, error) {
				return append([]seal.MasterKey{{Key: seal.NewMasterKey()}}, keys...), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	keys, err := MasterKeys(path, false)
	if err != nil || len(keys) != 9 || !reflect.DeepEqual(keys[8], first[0]) {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o640 {
		t.Errorf("mode %s", info.Mode())
	}
	if _, err := ChangeMasterKeys(path, func([]seal.MasterKey) ([]seal.MasterKey, error) { return nil, errors.New("no") }); err == nil {
		t.Error("a refused change passes")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}
