package zones

import (
	"archive/zip"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mailer/app/apptest"
	"mailer/app/pack"
)

var update = flag.Bool("update", false, "make zones.gz of the database that Go has")

// TestZonesAreThere: each zone in the binary can be read, and the well known are among them.
func TestZonesAreThere(t *testing.T) {
	if *update {
		repack(t)
	}
	wanted := map[string]int{"Europe/Berlin": 7200, "America/New_York": -14400, "Asia/Kolkata": 19800, "Australia/Adelaide": 34200, "UTC": 0, "Etc/GMT+5": -18000, "Asia/Tokyo": 32400}
	n := 0
	err := pack.Each(packed, func(name string, content []byte) bool {
		n++
		zone, err := time.LoadLocationFromTZData(name, content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return true
		}
		if want, ok := wanted[name]; ok {
			if _, got := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).In(zone).Zone(); got != want {
				t.Errorf("%s is %d s from UTC, want %d", name, got, want)
			}
			delete(wanted, name)
		}
		return true
	})
	if err != nil || n < 550 || len(wanted) > 0 {
		t.Errorf("%d zones, without %v: %v", n, wanted, err)
	}
}

// TestAMachineWithoutZonesHasThem: what the machine does not have comes from the binary.
func TestAMachineWithoutZonesHasThem(t *testing.T) {
	if find("Europe/Berlin") == nil || find("Europe/berlin") != nil {
		t.Error("Europe/Berlin is not found by its name alone")
	}
	for _, name := range []string{"", "local", "Local", "Europe/Nowhere", "../etc/passwd"} {
		if zone, err := Load(name); err == nil {
			t.Errorf("Load(%q) = %v", name, zone)
		}
	}
	if _, err := Load("Europe/Berlin"); err != nil {
		t.Error(err)
	}
}

// repack makes zones.gz of the file that Go ships.
func repack(t *testing.T) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	from, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib/time/zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	var zones []apptest.File
	for _, file := range from.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		f, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, apptest.File{Name: file.Name, Content: content})
	}
	packed = apptest.Pack(t, zones)
	if err := os.WriteFile("zones.gz", packed, 0o644); err != nil {
		t.Fatal(err)
	}
}
