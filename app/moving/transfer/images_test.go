package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/tenants/images"
	"mailer/app/testing/testserver"
)

// picture returns a PNG that differs for each n.
func picture(t testing.TB, n, width int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, 40))
	m.Set(n, 1, color.NRGBA{200, 30, 30, 255})
	var b bytes.Buffer
	testserver.Must(t, png.Encode(&b, m))
	return b.Bytes()
}

func upload(w *testserver.Server, n, width int) app.Image {
	w.T.Helper()
	i, err := w.Services.Images.CreateImage(w.T.Context(), w.Key, func() (images.Upload, error) {
		return images.Upload{File: picture(w.T, n, width), Field: "file", Alt: fmt.Sprint("Picture ", n)}, nil
	})
	testserver.Must(w.T, err)
	return i
}

// TestImagesMove: another server serves them under the same names, and templates and drafts show
// those.
func TestImagesMove(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		from := testserver.New(t, testserver.NewRelay(nil))
		used, unused := upload(from, 1, 700), upload(from, 2, 30)
		src := `<img src="https://mail.example.com` + used.Path(1) + `"><img src="https://elsewhere.example/i/` + strings.Repeat("0", 32) + `.png">`
		_, err := from.Services.Templates.CreateTemplate(t.Context(), from.Key, app.TemplateInput{Name: "x", TemplateContent: app.TemplateContent{HTML: src, Design: `{"html":"https://mail.example.com` + used.Path(0) + `"}`}})
		testserver.Must(t, err)
		dir, made := exported(t, from.Services, from.Key, transfer.ExportOptions{})
		if made.Counts["images"] != 2 {
			t.Errorf("%v", made.Counts)
		}
		to := testserver.New(t, testserver.NewRelay(nil))
		to.Services.Settings.BaseURL = "https://new.example"
		if report := imported(t, to, dir, false); report.Images.New != 2 || to.Count("images") != "0" {
			t.Errorf("dry run: %+v, %s", report.Images, to.Count("images"))
		}
		if report := imported(t, to, dir, true); report.Images != (transfer.ImageCounts{New: 2}) || len(report.Cannot) != 0 {
			t.Errorf("%+v %v", report.Images, report.Cannot)
		}
		for _, want := range []*app.Image{&used, &unused} {
			got, err := to.Services.Images.GetImage(t.Context(), to.Key, want.ID)
			testserver.Must(t, err)
			if got.Name != want.Name || got.Alt != want.Alt || fmt.Sprint(got.Sizes) != fmt.Sprint(want.Sizes) || got.UsedAt.IsZero() != (want == &unused) || !got.CreatedAt.Equal(want.CreatedAt.Truncate(time.Millisecond)) {
				t.Errorf("%+v\nwant %+v", got, want)
			}
		}
		html, design := to.SQL(`SELECT html FROM template_versions`)[0], to.SQL(`SELECT design FROM template_versions`)[0]
		if html != strings.ReplaceAll(src, "mail.example.com", "new.example") || !strings.Contains(design, "https://new.example"+used.Path(0)) {
			t.Errorf("%s\n%s", html, design)
		}
		if report := imported(t, to, dir, true); report.Images != (transfer.ImageCounts{Existing: 2}) {
			t.Errorf("again: %+v", report.Images)
		}
	})
}

// TestHostileImagesOfAnArchive are reported, and no file outside of the archive is read.
func TestHostileImagesOfAnArchive(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		from := testserver.New(t, testserver.NewRelay(nil))
		upload(from, 1, 30)
		dir, _ := exported(t, from.Services, from.Key, transfer.ExportOptions{})
		name := strings.Repeat("a", 32) + ".png"
		for what, change := range map[string]func(dir string) string{
			"another file": func(dir string) string { return "../team.json" },
			"no file":      func(dir string) string { return name },
			"a link": func(dir string) string {
				testserver.Must(t, os.Symlink("../team.json", filepath.Join(dir, name)))
				return name
			},
			"a large file": func(dir string) string {
				testserver.Must(t, os.WriteFile(filepath.Join(dir, name), make([]byte, app.MaxImageFile+1), 0o600))
				return name
			},
			"no picture": func(dir string) string {
				testserver.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("<svg>"), 0o600))
				return name
			},
			"another digit": func(dir string) string { return "G" + name[1:] },
		} {
			file := change(filepath.Join(dir, archive.ImagesDir))
			testserver.Must(t, os.WriteFile(filepath.Join(dir, "images.json"), []byte(`[
{"file":"`+file+`","width":1,"height":1,"size":1}
]
`), 0o600))
			to := testserver.New(t, testserver.NewRelay(nil))
			if report := imported(t, to, dir, true); to.Count("images") != "0" || len(report.Cannot) != 1 || report.Images.New != 0 {
				t.Errorf("%s: %+v %v", what, report.Images, report.Cannot)
			}
			_ = os.Remove(filepath.Join(dir, archive.ImagesDir, name))
		}
	})
}

// TestImagesOfAnotherServiceAreFetched if the command asks for it.
func TestImagesOfAnotherServiceAreFetched(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "archive")
		w, err := archive.Create(dir)
		testserver.Must(t, err)
		const html = `<body background=https://cdn.example/a.png><IMG alt=x SRC='https://cdn.example/a.png?w=1&amp;h=2'><img src="https://cdn.example/gone.png"><img src="/relative.png"><img src="https://cdn.example/{{{ID}}}.png"><img src="data:image/gif;base64,x">`
		testserver.Must(t, w.Put(archive.Templates, &archive.Template{ID: "1", Name: "A", Content: archive.Content{HTML: html, Variables: []archive.Variable{{Key: "ID", Type: app.StringProperty, Fallback: jsontext.Value(`""`)}}}}))
		testserver.Must(t, w.Put(archive.Broadcasts, &archive.Broadcast{ID: "2", Name: "B", Subject: "s", Status: app.DraftBroadcast, HTML: `<img src=https://cdn.example/a.png><img src="https://cdn.example/gone.png">`}))
		testserver.Must(t, w.Finish(&archive.Team{Source: archive.SourceListmonk}))
		to := testserver.New(t, testserver.NewRelay(nil))
		team, err := to.Services.Teams.FindTeam(t.Context(), to.Key.TeamID)
		testserver.Must(t, err)
		var asked []string
		fetch := func(_ context.Context, _ string, urls []string, limit int64) ([][]byte, func(), error) {
			asked = append(asked, urls...)
			switch {
			case limit != app.MaxImageFile:
				t.Errorf("limit %d", limit)
			case strings.Contains(urls[0], "gone"):
				return nil, nil, &app.FetchError{Reason: app.FetchRefused}
			}
			return [][]byte{picture(t, len(urls[0]), 30)}, func() {}, nil
		}
		run := func(apply bool) *transfer.Report {
			t.Helper()
			r, err := archive.Open(dir)
			testserver.Must(t, err)
			report, err := to.Services.Transfer.Import(t.Context(), &team, r, transfer.Options{Apply: apply, FetchImages: fetch})
			testserver.Must(t, err)
			return report
		}
		if report := run(false); report.Images.New != 3 || len(asked) != 0 {
			t.Errorf("dry run: %+v, %v", report.Images, asked)
		}
		report := run(true)
		if want := "[https://cdn.example/a.png https://cdn.example/a.png?w=1&h=2 https://cdn.example/gone.png]"; report.Images.New != 2 || fmt.Sprint(asked) != want || len(report.Cannot) != 1 ||
			!strings.Contains(report.Cannot[0].Item, "gone.png") || !strings.Contains(report.Cannot[0].Reason, "did not answer") {
			t.Errorf("%+v, %v, %v", report.Images, asked, report.Cannot)
		}
		names := to.SQL(`SELECT name FROM images ORDER BY id`)
		address := func(n int) string { return `"https://mail.example.com/i/` + names[n] + `.png"` }
		want := strings.NewReplacer("https://cdn.example/a.png>", address(0)+">", "'https://cdn.example/a.png?w=1&amp;h=2'", strings.ReplaceAll(address(1), `"`, "'")).Replace(html)
		if got := to.SQL(`SELECT html FROM template_versions`)[0]; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if got := to.SQL(`SELECT html FROM broadcast_contents`)[0]; !strings.HasPrefix(got, "<img src="+address(0)+"><img src=\"https://cdn.example/gone.png\">") {
			t.Errorf("%s", got)
		}
		if n := to.SQL(`SELECT count(*) FROM images WHERE used_at IS NOT NULL`)[0]; n != "2" {
			t.Errorf("%s images are used", n)
		}
	})
}
