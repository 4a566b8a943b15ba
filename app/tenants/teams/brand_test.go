package teams_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/brand"
	"mailer/app/tenants/teams"
	"mailer/app/testing/testserver"
)

// testLogo returns a PNG that differs for each n.
func testLogo(t testing.TB, n int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 40, 10))
	m.Set(n%40, n/40, color.NRGBA{uint8(n), 90, 160, 255})
	var b bytes.Buffer
	testserver.Must(t, png.Encode(&b, m))
	return b.Bytes()
}

func set(text string) app.Change[string] { return app.Change[string]{Set: true, Value: text} }

func TestUpdateBrandChangesSingleFields(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	s, ctx, team := w.Services.Brands, t.Context(), w.Key.TeamID
	other := w.AddTeam("Other", "other.example").TeamID
	b, err := s.Brand(ctx, team)
	testserver.Must(t, err)
	want := brand.Brand{Team: b.Team, Font: brand.SystemFont}
	if b != want || b.Team == "" {
		t.Errorf("at first %+v", b)
	}
	for _, step := range []struct {
		change teams.BrandChange
		want   func()
	}{
		{teams.BrandChange{Color: set("#1F6FEB")}, func() { want.Color = "#1f6feb" }},
		{teams.BrandChange{Font: set("georgia"), Footer: set(" Acme \r\n1 Main St ")}, func() { want.Font, want.Footer = brand.GeorgiaFont, "Acme\n1 Main St" }},
		{teams.BrandChange{}, func() {}},
		{teams.BrandChange{Color: set(""), Font: set("")}, func() { want.Color, want.Font = "", brand.SystemFont }},
		{teams.BrandChange{Footer: set("")}, func() { want.Footer = "" }},
	} {
		step.want()
		changed, err := s.UpdateBrand(ctx, team, step.change)
		testserver.Must(t, err)
		if read, err := s.Brand(ctx, team); err != nil || read != want || changed != want {
			t.Errorf("%+v: %+v, then %+v, %v", step.change, changed, read, err)
		}
	}
	for _, bad := range []teams.BrandChange{{Color: set("red")}, {Font: set("comic")}, {Footer: set("a\x00")}, {Color: set("#000000"), Font: set("x")}} {
		_, err := s.UpdateBrand(ctx, team, bad)
		testserver.WantCode(t, err, app.CodeValidation)
	}
	if theirs, err := s.Brand(ctx, other); err != nil || theirs != (brand.Brand{Team: "Other", Font: brand.SystemFont}) {
		t.Errorf("the other team's is %+v, %v", theirs, err)
	}
}

func TestReplacedLogoKeepsItsURL(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		s, ctx, team := w.Services.Brands, t.Context(), w.Key.TeamID
		other := w.AddTeam("Other", "other.example").TeamID
		var logos []brand.Logo
		upload := func(n int) {
			t.Helper()
			time.Sleep(time.Second) // the oldest is deleted
			b, err := s.SetLogo(ctx, team, testLogo(t, n))
			testserver.Must(t, err)
			if b.Logo.Width != 40 || b.Logo.Height != 10 || b.Logo.Type != "image/png" {
				t.Errorf("%+v", b.Logo)
			}
			logos = append(logos, b.Logo)
		}
		served := func(l *brand.Logo) bool {
			t.Helper()
			file, err := s.Logo(ctx, l.ID)
			if err != nil {
				testserver.WantCode(t, err, app.CodeNotFound)
				return false
			}
			content, err := s.LogoContent(ctx, l.ID)
			testserver.Must(t, err)
			return file.Logo == *l && len(content) > 0 && int64(len(content)) == file.Size
		}
		for n := range brand.MaxStoredLogos + 1 {
			upload(n)
		}
		for i := range logos {
			if got := served(&logos[i]); got != (i > 0) {
				t.Errorf("logo %d is served: %t", i, got)
			}
		}
		theirs, err := s.SetLogo(ctx, other, testLogo(t, 5))
		testserver.Must(t, err)
		if theirs.Logo.ID == logos[5].ID {
			t.Error("two teams share an address")
		}
		upload(5) // uploaded again: the same URL
		if logos[len(logos)-1] != logos[5] {
			t.Errorf("%+v, before %+v", logos[len(logos)-1], logos[5])
		}
		b, err := s.RemoveLogo(ctx, team)
		testserver.Must(t, err)
		if b.Logo.ID != "" || served(&logos[5]) || !served(&logos[6]) || !served(&theirs.Logo) {
			t.Errorf("after the removal: %+v", b)
		}
		_, err = s.SetLogo(ctx, team, []byte("<svg></svg>"))
		testserver.WantCode(t, err, app.CodeValidation)
	})
}

func TestExternalAndUploadedLogoReplaceEachOther(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	s, brands, ctx, team := w.Services.Teams, w.Services.Brands, t.Context(), w.Key.TeamID
	shown := func(want string) {
		t.Helper()
		settings, err := s.TeamSettings(ctx, team)
		testserver.Must(t, err)
		b, err := brands.Brand(ctx, team)
		testserver.Must(t, err)
		if address := b.Address("https://mail.example.com"); settings.LogoURL != want || address != want {
			t.Errorf("logo_url is %q, the brand's %q, want %q", settings.LogoURL, address, want)
		}
	}
	change := func(to string) error {
		_, err := s.UpdateTeamSettings(ctx, w.Key, teams.SettingsChange{LogoURL: set(to)})
		return err
	}
	testserver.Must(t, change("https://cdn.example/l.png"))
	shown("https://cdn.example/l.png")
	b, err := brands.SetLogo(ctx, team, testLogo(t, 1))
	testserver.Must(t, err)
	own := "https://mail.example.com" + b.Logo.Path()
	shown(own)
	testserver.Must(t, change(own)) // a client sends back the URL that it read
	shown(own)
	testserver.WantCode(t, change("http://cdn.example/l.png"), app.CodeValidation)
	shown(own)
	testserver.Must(t, change("https://cdn.example/m.png"))
	shown("https://cdn.example/m.png")
	_, err = brands.RemoveLogo(ctx, team)
	testserver.Must(t, err)
	shown("")
	testserver.Must(t, change("https://cdn.example/m.png"))
	testserver.Must(t, change(""))
	shown("")
}
