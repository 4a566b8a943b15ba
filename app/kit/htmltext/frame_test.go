package htmltext

import (
	"strings"
	"testing"
)

func TestLinkElementsAreDisabled(t *testing.T) {
	source := `<p>a</p><LINK rel=preconnect href=https://evil.example><lin<link/><a href="#">x</a>` + "<lInK\n>" + `<link`
	got := DisableLinkElements(source)
	if strings.Contains(strings.ToLower(got), "<link") || len(got) != len(source) {
		t.Errorf("%q", got)
	}
	for _, same := range []string{"", "<", "<l", "<p>link</p>", "&lt;link"} {
		if got := DisableLinkElements(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
}

func TestRemoteImages(t *testing.T) {
	for source, want := range map[string]int{
		``: 0,
		`<img src="cid:a"><img src="data:image/png;base64,AA"><a href="https://x.example/">x</a>`: 0,
		`<img src=https://x.example/a.png><IMG SRC=" HTTPS://x.example/b.png ">`:                  2,
		`<img src=https://x.example/a.png><img src=https://x.example/a.png>`:                      1,
		`<img src="//x.example/a.png">`:                                                           1,
		`<td background="http://x.example/a.png" style="background:URL( 'https://x.example/b')">`: 2,
		`<style>.a{background:url(https://x.example/a)} .b{color:rgb(0,0,0)}</style>`:             1,
		`<img srcset="https://x.example/1 1x, https://x.example/2 2x">`:                           2,
		`<svg><image xlink:href="https://x.example/1"/></svg>`:                                    1,
		`<p>https://x.example/a.png</p><!-- <img src=https://x.example/a> -->`:                    0,
		`<img src=https://x.example/a`:                                                            0,
	} {
		if got := RemoteImages(source); got != want {
			t.Errorf("%s: %d, want %d", source, got, want)
		}
	}
	if got := RemoteImages(strings.Repeat(`<img style="url(((((((" src=https://x.example/a`, 2*maxRemote)); got > maxRemote {
		t.Errorf("%d are counted", got)
	}
}
