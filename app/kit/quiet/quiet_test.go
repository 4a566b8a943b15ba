package quiet

import (
	"bytes"
	"log"
	"testing"
)

func TestLineIsDropped(t *testing.T) {
	var out bytes.Buffer
	l := log.New(filter{&out}, "", 0)
	l.Print("INFO: metrics: disable exposing PSI metrics because of failed init: open cpu.pressure")
	l.Print("http: a line of the server")
	if got := out.String(); got != "http: a line of the server\n" {
		t.Errorf("%q", got)
	}
}
