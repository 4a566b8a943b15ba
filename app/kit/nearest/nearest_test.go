package nearest

import "testing"

func TestNearestName(t *testing.T) {
	names := []string{"listen", "bounce-listen", "base-url", "db"}
	for word, want := range map[string]string{"lisen": "listen", "listen": "listen", "bounce-lissten": "bounce-listen", "baseurl": "base-url", "bd": "db", "": "db"} {
		if got := Of(word, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
	if got := Of("x", nil); got != "" {
		t.Errorf("nearest of none is %q", got)
	}
	if a, b := Distance("kitten", "sitting"), Distance("sitting", "kitten"); a != 3 || b != 3 {
		t.Errorf("distances %d and %d", a, b)
	}
}
