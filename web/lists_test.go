package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

func TestPaging(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	r := newTestAPI(t, captured())
	var ids []string
	for range 7 {
		ids = append(ids, r.send(r.full, validSend))
	}
	files := strings.TrimSuffix(strings.Repeat(`{"filename":"a.txt","content":"aGk="},`, 7), ",")
	withFiles := r.send(r.full, member(`"attachments":[`+files+`]`))
	ids = append(ids, withFiles)
	slices.Reverse(ids)
	r.eventually(r.full, "/emails/"+withFiles, `"last_event":"sent"`)
	for _, base := range []string{"/emails", "/emails/" + withFiles + "/attachments", "/emails/" + withFiles + "/events"} {
		all := r.page(r.full, base)
		if len(all.Data) < 2 || all.HasMore {
			t.Fatalf("%s: %d rows, more %v", base, len(all.Data), all.HasMore)
		}
		if base == "/emails" && !slices.Equal(all.ids(), ids) {
			t.Errorf("emails %q, want %q", all.ids(), ids)
		}
		for limit := 1; limit <= len(all.Data)+1; limit++ {
			if down := r.walk(base, "after", limit); !slices.Equal(down, all.ids()) {
				t.Errorf("%s by %d after: %q", base, limit, down)
			}
			if up := r.walk(base, "before", limit); !slices.Equal(up, all.ids()[:len(all.Data)-1]) {
				t.Errorf("%s by %d before: %q, want %q", base, limit, up, all.ids())
			}
		}
		r.wantPageErrors(base, all.ids()[0])
	}
}

// walk reads a list page by page: down from the newest row, or up from the
// oldest.
func (r *testAPI) walk(base, direction string, limit int) (ids []string) {
	r.t.Helper()
	target := fmt.Sprintf("%s?limit=%d&foo=bar", base, limit)
	query := ""
	if direction == "before" {
		all := r.page(r.full, base).ids()
		query = "&before=" + all[len(all)-1]
	}
	for range 100 {
		p := r.page(r.full, target+query)
		if len(p.Data) > limit || p.HasMore && len(p.Data) < limit {
			r.t.Fatalf("%s: %d rows, more %v", target+query, len(p.Data), p.HasMore)
		}
		if direction == "before" {
			ids = append(p.ids(), ids...)
		} else {
			ids = append(ids, p.ids()...)
		}
		if !p.HasMore {
			return ids
		}
		cursor := p.Data[0].ID
		if direction == "after" {
			cursor = p.Data[len(p.Data)-1].ID
		}
		query = "&" + direction + "=" + cursor
	}
	r.t.Fatalf("%s never ends", base)
	return nil
}

func (r *testAPI) wantPageErrors(base, id string) {
	r.t.Helper()
	for query, words := range map[string]string{
		"limit=0": "`limit`", "limit=101": "`limit`", "limit=x": "`limit`", "limit=-1": "`limit`", "limit=99999999999999999999": "`limit`",
		"after=x": "`after`", "before=x": "`before`", "after=" + unknownID: "`after`", "before=" + unknownID: "`before`",
		"after=" + id + "&before=" + id: "`before`",
	} {
		wantError(r.t, r.as(r.full, "GET", base+"?"+query, ""), 422, app.CodeValidation, words)
	}
}
