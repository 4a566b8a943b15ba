package mail

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDraftPreviewsAreIsolatedByTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k keptPreviews
		large := &PreviewContent{HTML: strings.Repeat("x", 1<<20)}
		k.keep("quiet", "first", &PreviewContent{HTML: "hello"})
		for i := range 100 {
			for _, team := range []string{"loud", "louder", "loudest"} {
				if !k.keep(team, fmt.Sprint(i), large) {
					t.Fatal("refused")
				}
				if k.size > maxKept || k.teams[team].size > maxTeamKept {
					t.Fatalf("%d bytes are kept, %d of %s", k.size, k.teams[team].size, team)
				}
			}
		}
		if k.get("quiet", "first") == nil || k.get("loudest", "99") == nil || k.get("loud", "0") != nil || k.get("quiet", "99") != nil {
			t.Error("the wrong ones were let go of")
		}
		if k.keep("loud", "huge", &PreviewContent{HTML: strings.Repeat("x", maxTeamKept+1)}) {
			t.Error("one is kept that is larger than all room of a team")
		}
		for i := range 2 * maxTeamDrafts {
			k.keep("quiet", fmt.Sprint("small", i), &PreviewContent{HTML: "x"})
		}
		if n := len(k.teams["quiet"].drafts); n != maxTeamDrafts {
			t.Errorf("%d drafts of a team are kept", n)
		}
	})
}

func TestDraftPreviewsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k keptPreviews
		for _, team := range []string{"one", "two"} {
			k.keep(team, "a", &PreviewContent{HTML: "a"})
			k.keep(team, "b", &PreviewContent{Text: "b"})
		}
		<-time.After(previewTTL)
		synctest.Wait()
		if len(k.teams) != 0 || k.size != 0 || k.get("one", "a") != nil {
			t.Errorf("%d bytes of %d teams are left", k.size, len(k.teams))
		}
	})
}
