package app

import (
	"errors"
	"testing"
)

func TestRefuseItem(t *testing.T) {
	cause := errors.New("cause")
	refusal := &Error{Code: CodeNotFound, Message: "No such segment", Err: cause}
	paused := &Error{Code: CodeSendingPaused, Message: "Paused"}
	for name, tt := range map[string]struct {
		err        error
		permissive bool
		item       BatchError
		whole      string
	}{
		"accepted":                         {},
		"refused in a strict batch":        {err: refusal, whole: "contacts.3: No such segment"},
		"refused in a permissive batch":    {err: refusal, permissive: true, item: BatchError{3, "No such segment"}},
		"paused in a permissive batch":     {err: paused, permissive: true, whole: paused.Error()},
		"paused in a strict batch":         {err: paused, whole: paused.Error()},
		"a fault of ours, permissive":      {err: cause, permissive: true, whole: "cause"},
		"a fault of ours in a strict one ": {err: cause, whole: "cause"},
	} {
		t.Run(name, func(t *testing.T) {
			item, whole := RefuseItem("contacts", 3, tt.permissive, tt.err)
			if item == nil {
				item = new(BatchError)
			}
			if *item != tt.item {
				t.Errorf("the item: %+v", item)
			}
			var worded *Error
			got := ""
			if errors.As(whole, &worded) && worded != paused {
				if got = worded.Message; worded.Code != refusal.Code || !errors.Is(whole, cause) {
					t.Errorf("the batch: %v", whole)
				}
			} else if whole != nil {
				got = whole.Error()
			}
			if got != tt.whole {
				t.Errorf("the batch: %q", got)
			}
		})
	}
}
