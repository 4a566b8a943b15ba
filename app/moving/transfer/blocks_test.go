package transfer_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/testing/testserver"
)

// A sent broadcast moves with the blocks that it was sent with, also if they do not exist any more.
func TestSentBroadcastMovesWithItsBlocks(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		w.AddSubscribers(1)
		block, err := w.Services.Blocks.CreateBlock(t.Context(), w.Key, app.BlockInput{Name: "Footer", HTML: "<i>Acme</i>"})
		testserver.Must(t, err)
		sent := w.SendNewsletter(`<p>{% block "Footer" %}</p>`, func(b *app.Broadcast) {
			b.Syntax, b.Subject, b.Variants = app.LiquidSyntax, "s", app.Variants{"de": {HTML: `<b>{% block "Footer" %}</b>`}}
		})
		testserver.SleepAndSettle(time.Minute)
		testserver.Must(t, w.Services.Blocks.DeleteBlock(t.Context(), w.Key, block.ID))
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
		to, report := moved(t, dir)
		b, err := to.Services.Broadcasts.GetBroadcast(t.Context(), to.Key, sent.ID)
		if err != nil || b.Status != app.SentBroadcast || b.HTML != "<p><i>Acme</i></p>" || b.Variants["de"].HTML != "<b><i>Acme</i></b>" || b.Counts.Sent != 1 {
			t.Errorf("moved %+v, %v; %v", b.Broadcast, err, report.Cannot)
		}
		for _, lack := range report.Cannot {
			if strings.Contains(lack.Item, "broadcast") {
				t.Errorf("%+v", lack)
			}
		}
	})
}
