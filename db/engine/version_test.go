package engine_test

import (
	"testing"
	"time"

	"mailer/db/engine"
)

func TestVersion(t *testing.T) {
	path := engine.NewFile(t)
	d, err := engine.Open(t.Context(), engine.Options{Path: path, Schema: engine.SmallSchema(t), Lock: true, Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	other, err := engine.Open(t.Context(), engine.Options{Path: path, Schema: engine.SmallSchema(t), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	write := func(d *engine.DB) {
		t.Helper()
		if err := d.Write(t.Context(), func(tx *engine.Tx) error { return tx.SetSetting("x", []byte(time.Now().String())) }); err != nil {
			t.Fatal(err)
		}
	}
	foreign := func() int64 {
		t.Helper()
		n, err := d.ExternalVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	write(other)
	version, before := d.Version(), foreign()
	if d.Version() != version || foreign() != before {
		t.Error("a change is told of that was not")
	}
	write(d)
	if d.Version() == version {
		t.Error("the version stands still after a commit of this process")
	}
	if foreign() != before {
		t.Error("a commit of this process counts as another's")
	}
	version = d.Version()
	write(other)
	if d.Version() == version {
		t.Error("the version stands still after a commit of another process")
	}
	if foreign() == before {
		t.Error("a commit of another process does not count as one")
	}
}
