package images_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"path"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/tenants/images"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// picture returns a PNG that differs for each n.
func picture(t testing.TB, n, width, height int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	seed := uint32(n + 1)
	for i := range m.Pix {
		if seed = seed*1664525 + 1013904223; i%4 == 3 || i > 40*width {
			m.Pix[i] = 255
		} else {
			m.Pix[i] = byte(seed >> 24)
		}
	}
	m.Set(0, 0, color.NRGBA{uint8(n), uint8(n >> 8), 0, 255})
	var b bytes.Buffer
	testserver.Must(t, png.Encode(&b, m))
	return b.Bytes()
}

// upload uploads a file.
func upload(w *testserver.Server, key *app.Key, file []byte, alt string) (app.Image, error) {
	return w.Services.Images.CreateImage(w.T.Context(), key, func() (images.Upload, error) {
		return images.Upload{File: file, Field: "file", Alt: alt}, nil
	})
}

func mustUpload(w *testserver.Server, key *app.Key, n int) app.Image {
	w.T.Helper()
	i, err := upload(w, key, picture(w.T, n, 700, 90), "")
	testserver.Must(w.T, err)
	return i
}

// fetch returns the content of the n-th size of an image at a host; on the host of the base URL for
// "".
func fetch(w *testserver.Server, i *app.Image, n int, host string) ([]byte, error) {
	f, err := w.Services.Images.OpenFile(w.T.Context(), host, host == "", path.Base(i.Path(n)))
	if err != nil {
		return nil, err
	}
	var content []byte
	for n := 0; int64(len(content)) < f.Size; n++ {
		piece, err := f.Piece(w.T.Context(), n)
		if err != nil {
			return nil, err
		}
		content = append(content, piece...)
	}
	return content, nil
}

func TestImagesAreStoredOnce(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	file := picture(t, 1, 700, 400)
	first, err := upload(w, w.Key, file, " A tree ")
	testserver.Must(t, err)
	if first.Alt != "A tree" || first.Type != "image/png" || len(first.Sizes) != 2 || first.Sizes[1] != (app.ImageSize{Width: 600, Height: 343, Bytes: first.Sizes[1].Bytes}) || !first.OnBase || !first.UsedAt.IsZero() {
		t.Errorf("%+v", first)
	}
	for n := range first.Sizes {
		content, err := fetch(w, &first, n, "")
		if shown, decodeErr := png.Decode(bytes.NewReader(content)); err != nil || decodeErr != nil || shown.Bounds().Dx() != first.Sizes[n].Width || int64(len(content)) != first.Sizes[n].Bytes {
			t.Errorf("size %d: %d bytes, %v, %v", n, len(content), err, decodeErr)
		}
	}
	pieces := w.SQL(`SELECT count(*) || ' ' || max(octet_length(content)) FROM image_pieces`)
	again, err := upload(w, w.Key, file, "")
	testserver.Must(t, err)
	if again.ID != first.ID || again.Alt != "A tree" || fmt.Sprint(w.SQL(`SELECT count(*) || ' ' || max(octet_length(content)) FROM image_pieces`)) != fmt.Sprint(pieces) {
		t.Errorf("stored again as %+v: %v", again, pieces)
	}
	other := w.AddTeam("Other", "other.example")
	testserver.Must(t, setHost(w, other, "other.example", true))
	theirs, err := upload(w, other, file, "")
	testserver.Must(t, err)
	if theirs.Name == first.Name || theirs.OnBase {
		t.Errorf("another team has the same: %+v", theirs)
	}
	if _, err := w.Services.Images.GetImage(t.Context(), other, first.ID); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("of another team: %v", err)
	}
	testserver.WantCode(t, w.Services.Images.DeleteImage(t.Context(), other, first.ID, true), app.CodeNotFound)
	testserver.Must(t, w.Services.Images.DeleteImage(t.Context(), w.Key, first.ID, false))
	if _, err := fetch(w, &first, 0, ""); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("a deleted image: %v", err)
	}
	used := w.SQL(`SELECT image_bytes FROM teams ORDER BY id`)
	if want := fmt.Sprint([]string{"0", fmt.Sprint(theirs.Bytes() + app.ImageOverhead)}); fmt.Sprint(used) != want {
		t.Errorf("%v bytes, want %s", used, want)
	}
}

// setHost sets the tracking host of a domain of a team to links.DOMAIN, whose record was found.
func setHost(w *testserver.Server, key *app.Key, name string, verified bool) error {
	return w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		d, err := tx.DomainByName(key.TeamID, name)
		if err != nil {
			return err
		}
		d.TrackingSubdomain = "links"
		if d.Status = app.DomainPending; verified {
			d.Status = app.DomainVerified
		}
		d.Checks = []app.RecordCheck{{Record: app.RecordTracking, Name: "links." + name, Live: app.LiveFound}}
		return errors.Join(tx.SetDomainTracking(&d), tx.SetDomainChecks(&d))
	})
}

// TestHostsOfImages: an image answers on hosts of its team only.
func TestHostsOfImages(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.NewWithConfig(t, server.Config{PagesHost: "pages.example"}, testserver.NewRelay(nil))
		first := mustUpload(w, w.Key, 1)
		other := w.AddTeam("Other", "other.example")
		theirs := mustUpload(w, other, 2) // on the pages host
		bases := func(want string) {
			t.Helper()
			time.Sleep(time.Minute) // until hosts are read again
			var got []string
			for _, i := range []*app.Image{&first, &theirs} {
				baseOf, err := w.Services.Images.BaseOf(t.Context(), i.TeamID)
				testserver.Must(t, err)
				got = append(got, strings.TrimPrefix(baseOf(i), "https://"))
			}
			if fmt.Sprint(got) != want {
				t.Errorf("bases %v, want %s", got, want)
			}
		}
		// hosts are those that serve the images of both teams.
		hosts := func(want string) {
			t.Helper()
			time.Sleep(time.Minute)
			out := ""
			for _, i := range []*app.Image{&first, &theirs} {
				out += " " + i.TeamID[len(i.TeamID):] + "|"
				for _, host := range []string{"", "pages.example", "PAGES.example.:443", "links.example.com", "links.other.example", "evil.example", "127.0.0.1"} {
					_, err := fetch(w, i, 0, host)
					if err == nil {
						out += " " + host
					} else if app.CodeOf(err) != app.CodeNotFound {
						t.Errorf("at %s: %v", host, err)
					}
				}
			}
			if out != want {
				t.Errorf("hosts %q, want %q", out, want)
			}
		}
		const both = " pages.example PAGES.example.:443"
		hosts(" | " + both + " |" + both)
		bases("[pages.example pages.example]")
		testserver.Must(t, setHost(w, w.Key, testserver.TestDomain, true))
		testserver.Must(t, setHost(w, other, "other.example", true))
		hosts(" | " + both + " links.example.com |" + both + " links.other.example")
		bases("[links.example.com links.other.example]")
		// A team that names a domain of another as its own gets nothing by it.
		_, err := w.Services.Domains.AddDomain(t.Context(), other.TeamID, app.DomainInput{Name: testserver.TestDomain, TrackingSubdomain: "links"})
		testserver.Must(t, err)
		hosts(" | " + both + " links.example.com |" + both + " links.other.example")
		// While its own domain is not verified, sent mail still shows images.
		testserver.Must(t, setHost(w, other, "other.example", false))
		hosts(" | " + both + " links.example.com |" + both + " links.other.example")
		bases("[links.example.com pages.example]")
		_, err = w.Services.Teams.SuspendTeam(t.Context(), other.TeamID, "spam")
		testserver.Must(t, err)
		hosts(" | " + both + " links.example.com |")
	})
}

// TestServersWithSeveralTeamsNeedAHost: what was uploaded while there was one stays at the base URL.
func TestServersWithSeveralTeamsNeedAHost(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	first := mustUpload(w, w.Key, 1)
	other := w.AddTeam("Other", "other.example")
	for _, key := range []*app.Key{w.Key, other} {
		_, err := upload(w, key, picture(t, 2, 10, 10), "")
		testserver.WantCode(t, err, app.CodeConflict)
	}
	if _, err := fetch(w, &first, 0, ""); err != nil {
		t.Error(err)
	}
	baseOf, err := w.Services.Images.BaseOf(t.Context(), w.Key.TeamID)
	testserver.Must(t, err)
	if base := baseOf(&first); base != "https://mail.example.com" {
		t.Error(base)
	}
}

// TestCachedImageNeedsNoDatabase closes the database after an image was fetched once.
func TestCachedImageNeedsNoDatabase(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	testserver.Must(t, setHost(w, w.Key, testserver.TestDomain, true))
	i := mustUpload(w, w.Key, 1)
	content, err := fetch(w, &i, 0, "links.example.com")
	testserver.Must(t, err)
	testserver.Must(t, w.DB.Close())
	for range 1000 {
		again, err := fetch(w, &i, 0, "links.example.com")
		if err != nil || !bytes.Equal(again, content) {
			t.Fatal(len(again), err)
		}
	}
	if _, err := fetch(w, &i, 1, "links.example.com"); app.CodeOf(err) != app.CodeServiceUnavailable {
		t.Errorf("the size that was not fetched: %v", err)
	}
}

// TestImageOutlivesTheDatabaseInMemory: what is cached is served while the database can't be read,
// even after its time.
func TestImageOutlivesTheDatabaseInMemory(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		testserver.Must(t, setHost(w, w.Key, testserver.TestDomain, true))
		i := mustUpload(w, w.Key, 1)
		_, err := fetch(w, &i, 0, "links.example.com")
		testserver.Must(t, err)
		testserver.Must(t, w.DB.Close())
		time.Sleep(time.Hour)
		if _, err := fetch(w, &i, 0, "links.example.com"); err != nil {
			t.Error(err)
		}
	})
}

func TestContentMarksImagesAsUsed(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("Other", "other.example")
	used := func(i *app.Image) bool {
		t.Helper()
		now, err := w.Services.Images.GetImage(t.Context(), &app.Key{TeamID: i.TeamID}, i.ID)
		testserver.Must(t, err)
		return !now.UsedAt.IsZero()
	}
	testserver.Must(t, setHost(w, w.Key, testserver.TestDomain, true))
	testserver.Must(t, setHost(w, other, "other.example", true))
	src := func(i *app.Image) string { return `<p><img src="https://links.example.com` + i.Path(1) + `"></p>` }
	store := map[string]func(i *app.Image) error{
		"an email": func(i *app.Image) error {
			in := testserver.Message("bob@example.net")
			in.HTML = src(i)
			_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
			return err
		},
		"a text": func(i *app.Image) error {
			in := testserver.Message("bob@example.net")
			text := "See https://links.example.com" + i.Path(0)
			in.Text = &text
			_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
			return err
		},
		"a template": func(i *app.Image) error {
			_, err := w.Services.Templates.CreateTemplate(t.Context(), w.Key, app.TemplateInput{Name: "x", TemplateContent: app.TemplateContent{HTML: src(i)}})
			return err
		},
		"a template that is changed": func(i *app.Image) error {
			made, err := w.Services.Templates.CreateTemplate(t.Context(), w.Key, app.TemplateInput{Name: "x", TemplateContent: app.TemplateContent{HTML: "<p>"}})
			testserver.Must(t, err)
			_, err = w.Services.Templates.UpdateTemplate(t.Context(), w.Key, made.ID, app.TemplatePatch{HTML: src(i)})
			return err
		},
		"a draft": func(i *app.Image) error {
			_, err := w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, app.BroadcastInput{Name: "n", From: "ann@example.com", Subject: "s", HTML: src(i)}, mail.SendOptions{})
			return err
		},
	}
	n := 0
	for name, put := range store {
		n++
		i, stranger := mustUpload(w, w.Key, n), mustUpload(w, other, n)
		if used(&i) {
			t.Errorf("before %s", name)
		}
		testserver.Must(t, put(&i))
		if !used(&i) {
			t.Errorf("%s marks no image", name)
		}
		testserver.Must(t, put(&stranger))
		if used(&stranger) {
			t.Errorf("%s marks the image of another team", name)
		}
		testserver.WantCode(t, w.Services.Images.DeleteImage(t.Context(), w.Key, i.ID, false), app.CodeConflict)
		testserver.Must(t, w.Services.Images.DeleteImage(t.Context(), w.Key, i.ID, true))
	}
}

// TestUnusedImagesAreDeleted after thirty days without an upload of the same file.
func TestUnusedImagesAreDeleted(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		unused, renewed, kept := mustUpload(w, w.Key, 1), mustUpload(w, w.Key, 2), mustUpload(w, w.Key, 3)
		in := testserver.Message("bob@example.net")
		in.HTML = "<img src=" + kept.Path(0) + ">"
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		left := func() (ids []string) {
			rows, _, err := w.Services.Images.ListImages(t.Context(), w.Key, app.Page{Limit: 10})
			testserver.Must(t, err)
			for i := range rows {
				ids = append(ids, rows[i].ID)
			}
			return ids
		}
		elapse := func(days time.Duration) {
			time.Sleep(days * 24 * time.Hour)
			testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		}
		elapse(29)
		if mustUpload(w, w.Key, 2); len(left()) != 3 {
			t.Errorf("left %v", left())
		}
		elapse(2)
		if got := left(); fmt.Sprint(got) != fmt.Sprint([]string{kept.ID, renewed.ID}) {
			t.Errorf("left %v, without %s", got, unused.ID)
		}
		elapse(60)
		if got := left(); fmt.Sprint(got) != fmt.Sprint([]string{kept.ID}) || fmt.Sprint(w.SQL(`SELECT image_bytes FROM teams`)) != fmt.Sprintf("[%d]", kept.Bytes()+app.ImageOverhead) {
			t.Errorf("left %v", got)
		}
	})
}

func TestImageLimit(t *testing.T) {
	testserver.BothEngines(t)
	one := picture(t, 1, 60, 60)
	w := testserver.NewWithConfig(t, server.Config{MaxImages: 8 << 10}, testserver.NewRelay(nil))
	first, err := upload(w, w.Key, one, "")
	testserver.Must(t, err)
	if _, err = upload(w, w.Key, picture(t, 2, 60, 60), ""); app.CodeOf(err) != app.CodePayloadTooLarge {
		t.Errorf("%v, after %d bytes", err, first.Bytes())
	}
	_, err = upload(w, w.Key, one, "") // stored already
	testserver.Must(t, err)
	testserver.Must(t, w.Services.Images.DeleteImage(t.Context(), w.Key, first.ID, false))
	_, err = upload(w, w.Key, picture(t, 2, 60, 60), "")
	testserver.Must(t, err)
}

func TestPlansLimitImages(t *testing.T) {
	w := testserver.NewWithConfig(t, server.Config{Cloud: true}, testserver.NewRelay(nil))
	set := func(bytes int64) {
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.Write(`UPDATE teams SET image_bytes = ?`, bytes) }))
	}
	set(100<<20 - app.ImageOverhead)
	if _, err := upload(w, w.Key, picture(t, 1, 60, 60), ""); app.CodeOf(err) != app.CodePayloadTooLarge || !strings.Contains(err.Error(), "100 MiB by the plan free") {
		t.Errorf("%v", err)
	}
	w.SetPlan(plan.Input{Name: plan.Starter})
	if _, err := upload(w, w.Key, picture(t, 1, 60, 60), ""); err != nil {
		t.Error(err)
	}
}

// TestDeletedTeamLeavesNoImages in the database.
func TestDeletedTeamLeavesNoImages(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("Other", "other.example")
	testserver.Must(t, setHost(w, other, "other.example", true))
	for n := range 3 {
		mustUpload(w, other, n)
	}
	team, err := w.Services.Teams.FindTeam(t.Context(), other.TeamID)
	testserver.Must(t, err)
	d, err := w.Services.Teams.BeginDeletion(t.Context(), team)
	testserver.Must(t, err)
	testserver.Must(t, w.Services.Teams.FinishDeletion(t.Context(), &d, false, func(_, _ int64) {}))
	if w.Count("images") != "0" || w.Count("image_pieces") != "0" {
		t.Errorf("%s images, %s pieces", w.Count("images"), w.Count("image_pieces"))
	}
}

// TestDamagedImageIsNotServed: its pieces have checksums.
func TestDamagedImageIsNotServed(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	i := mustUpload(w, w.Key, 1)
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.Write(`UPDATE image_pieces SET sum = sum + 1 WHERE size = 0`) }))
	if _, err := fetch(w, &i, 0, ""); !errors.Is(err, db.ErrDamaged) {
		t.Errorf("%v", err)
	}
	if _, err := fetch(w, &i, 1, ""); err != nil {
		t.Error(err)
	}
}

// TestUploadsTakeTurns: one picture is read at a time, and a team waits with five at most.
func TestUploadsTakeTurns(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reading, results := make(chan struct{}, 7), make(chan error)
	for range 7 {
		go func() {
			_, err := w.Services.Images.CreateImage(ctx, w.Key, func() (images.Upload, error) {
				reading <- struct{}{}
				<-ctx.Done()
				return images.Upload{}, ctx.Err()
			})
			results <- err
		}()
	}
	<-reading
	if err := <-results; app.CodeOf(err) != app.CodeRateLimitExceeded {
		t.Errorf("the seventh: %v", err)
	}
	cancel()
	for range 6 {
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}
