package brand

import (
	"reflect"
	"strings"
	"testing"
)

func TestPageColorsNeedContrast(t *testing.T) {
	for _, tt := range []struct{ card, text, want string }{
		{"", "", ""}, {"", "#767676", ""}, {"#101318", "#E9ECF1", ""}, {"#1b1f27", "#ffffff", ""}, {"#ffffff", "#0000ff", ""},
		{"", "#777777", "`page.text_color` has a contrast of 4.4:1 with the card (text #777777 on #ffffff), and text needs 4.5:1"},
		{"#ffd400", "#ffffff", "`page.text_color` has a contrast of 1.4:1"},
		{"#1b1f27", "", "`page.card_color` has a contrast of 1.0:1 with the text"},
		{"", "red", "`page.text_color` must be #"}, {"#12", "", "`page.card_color` must be #"},
	} {
		p := Page{Card: tt.card, Text: tt.text}
		err := p.Check()
		if tt.want == "" && (err != nil || p.Text != strings.ToLower(tt.text)) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if err := (&Page{Background: "#12345"}).Check(); err == nil || !strings.Contains(err.Error(), "`page.background_color`") {
		t.Error(err)
	}
}

func TestPageTextsAreChecked(t *testing.T) {
	good := Page{Texts: []PageText{{Language: "de", Unsubscribe: " a\r\nb ", Unsubscribed: strings.Repeat("é", MaxPageText), Link: "Zum Laden"}, {Language: "zh"}}}
	if err := good.Check(); err != nil || good.Texts[0].Unsubscribe != "a\nb" || good.TextIn("de") != good.Texts[0] || good.TextIn("fr") != (PageText{}) {
		t.Errorf("%+v, %v", good, err)
	}
	for want, texts := range map[string][]PageText{
		"`page.texts[0].language`": {{Language: "tlh"}}, "`page.texts[1].language`": {{Language: "de"}, {Language: "de"}},
		"`page.texts[0].unsubscribed`": {{Language: "de", Unsubscribed: strings.Repeat("é", MaxPageText+1)}},
		"`page.texts[0].preferences`":  {{Language: "de", Preferences: "a\nb\nc\nd\ne\nf"}},
		"`page.texts[0].unsubscribe`":  {{Language: "de", Unsubscribe: "a\x00"}},
		"`page.texts[0].link`":         {{Language: "de", Link: "a\nb"}},
	} {
		if err := (&Page{Texts: texts}).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestPageURLIsChecked(t *testing.T) {
	for address, host := range map[string]string{"https://Shop.Example.com/bye?a=1#b": "shop.example.com", "https://xn--bcher-kva.example": "xn--bcher-kva.example"} {
		p := Page{URL: address}
		if err := p.Check(); err != nil || p.Host() != host {
			t.Errorf("%s: %s, %v", address, p.Host(), err)
		}
	}
	for _, address := range []string{
		"http://shop.example.com", "javascript:alert(1)", "https:shop.example.com", "//shop.example.com", "https://a@shop.example.com", "https://shop.example.com:8443",
		"https://b\u00fccher.example", "https://", "https://evil.example\\@shop.example.com", "https://shop.example.com/\x00", "https://[::1]/", "https://shop.example.com/" + strings.Repeat("a", MaxPageURL),
		" https://shop.example.com", "https://shop.example.com%2eevil.example/",
	} {
		if err := (&Page{URL: address}).Check(); err == nil || !strings.Contains(err.Error(), "`page.after_unsubscribe_url`") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestStoredPageIsTheSame(t *testing.T) {
	for _, p := range []Page{{}, {Card: "#000000", Text: "#ffffff"}, {URL: "https://shop.example.com"}, {Texts: []PageText{{Language: "en", Link: "Shop <now>"}}}} {
		stored, err := p.Encode()
		b := Brand{Page: stored}
		if got := b.HostedPage(); err != nil || !reflect.DeepEqual(got, p) || (stored == "") != reflect.DeepEqual(p, Page{}) {
			t.Errorf("%+v is stored as %s, %v", p, stored, err)
		}
	}
}
