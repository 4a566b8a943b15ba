package emails

import (
	"encoding/json"
	"testing"

	"mailer/web/rest"
)

// FuzzSend: for any body the answer is a success or a client error, in the API's JSON.
func FuzzSend(f *testing.F) {
	for _, seed := range []string{
		goodSend, ``, `{}`, `[]`, `null`, `{"to":["a",{}]}`, `{"attachments":[{"content":{"type":"Buffer","data":[1,2]}}]}`,
		`{"attachments":[{"content":[1,2,]}]}`, `{"attachments":[{"content":"a\u0047k="}]}`, `{"headers":{"a":"b","a":"c"}}`,
		`{"to":"\ud800"}`, `{"a` + "`" + `":1}`, `{"tags":[{"name":null}]}`, `{"path":{"a":[[[[]]]]}}`, "{\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	b := newSends()
	f.Fuzz(func(t *testing.T, body []byte) {
		b.log.Reset()
		w := b.post(string(body), "Idempotency-Key: k")
		if w.Code == 200 {
			return
		}
		var e rest.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.StatusCode != w.Code || w.Code < 400 || w.Code > 499 {
			t.Errorf("%q gives %d %s", body, w.Code, w.Body)
		}
	})
}
