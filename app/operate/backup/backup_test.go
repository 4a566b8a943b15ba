package backup_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app/operate/backup"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

func TestBackupNeitherOverwritesNorLeavesFiles(t *testing.T) {
	testserver.SQLiteOnly(t) // PostgreSQL has its own backup tools
	w := testserver.New(t)
	w.Send("a@example.net")
	made := write(w, "copy.db")
	if info, err := os.Stat(made.File); err != nil || info.Mode().Perm() != 0o600 || info.Size() != made.Bytes || made.Emails != 1 {
		t.Errorf("%+v: %v, %v", made, info, err)
	}
	last, err := w.Services.Backup.Last(t.Context())
	if err != nil || last.File != made.File || last.Bytes != made.Bytes || last.At.IsZero() {
		t.Errorf("%+v, %v", last, err)
	}
	for file, words := range map[string]string{
		made.File: "is there already",
		filepath.Join(filepath.Dir(w.Path), "none", "copy.db"): "mkdir -p",
	} {
		if _, err := w.Services.Backup.Write(t.Context(), file, nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", file, err)
		}
	}
	var out bytes.Buffer
	streamed, err := w.Services.Backup.Stream(t.Context(), &out, nil)
	testserver.Must(t, err)
	if int64(out.Len()) != streamed.Bytes || !strings.HasPrefix(out.String(), "SQLite format 3") || streamed.File != "-" {
		t.Errorf("%d bytes, %+v", out.Len(), streamed)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(w.Path), "*partial*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestDailyBackups(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "backups")
		daily := backup.Daily{Dir: dir, At: "03:30", Keep: 2}
		testserver.Must(t, daily.Check())
		w := testserver.NewWithConfig(t, server.Config{Backup: daily}, testserver.NewRelay(testserver.Always(testserver.Accept)))
		w.Start()
		testserver.Sleep(time.Minute)
		last, err := w.Services.Backup.Last(t.Context())
		if err != nil || !w.Log.Contains("the daily backup failed") || !strings.Contains(last.Failure, "mkdir -p") || last.FailedAt.IsZero() {
			t.Errorf("without the folder: %+v, %v", last, err)
		}
		testserver.Must(t, os.Mkdir(dir, 0o700))
		foreign := filepath.Join(dir, "mailer-by-hand.db")
		testserver.Must(t, os.WriteFile(foreign, nil, 0o600))
		testserver.Sleep(3 * 24 * time.Hour)
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		testserver.Must(t, err)
		if len(files) != 3 || !slices.Contains(files, foreign) {
			t.Errorf("%q", files)
		}
		if last, err = w.Services.Backup.Last(t.Context()); err != nil || last.Failure != "" || !last.FailedAt.IsZero() {
			t.Errorf("%+v, %v", last, err)
		}
		if at := last.At.In(time.Local); time.Since(last.At) > 24*time.Hour || at.Hour() != 3 || at.Minute() > 31 {
			t.Errorf("the last one is of %v", at)
		}
	})
}
