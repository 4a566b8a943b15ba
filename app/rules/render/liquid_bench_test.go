package render

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// BenchmarkMail renders the mail of a broadcast with 30 KB of fixed HTML and tracked links: ten
// placeholders, the same in Liquid, with a condition, and with a loop of 20 items.
func BenchmarkMail(b *testing.B) {
	const paragraph = `<p style="margin:0 0 16px;font-size:16px;line-height:24px">A paragraph of <b>fixed</b> text. <a href="https://shop.example/a?b=1">A link</a></p>`
	fixed := strings.Repeat(paragraph, 200)
	plain, outputs := strings.Repeat(`<i>{{{FIRST_NAME|there}}}</i>`, 10), strings.Repeat(`<i>{{ contact.first_name | default: "there" }}</i>`, 10)
	const loop = `{% assign items = contact.items | split: "," %}{% for item in items %}<tr><td>{{ forloop.index }}</td><td>{{ item }}</td></tr>{% endfor %}`
	for _, c := range []struct {
		name, content string
		syntax        app.Syntax
	}{
		{"placeholders", fixed + plain, app.PlainSyntax},
		{"outputs", fixed + outputs, app.LiquidSyntax},
		{"condition", fixed + outputs + `{% if contact.city == "Rome" %}<p>Rome</p>{% else %}<p>elsewhere</p>{% endif %}`, app.LiquidSyntax},
		{"loop", fixed + outputs + "<table>" + loop + "</table>", app.LiquidSyntax},
	} {
		b.Run(c.name, func(b *testing.B) {
			broadcast := apptest.Broadcast(c.content)
			broadcast.Syntax, broadcast.Text = c.syntax, nil
			broadcast.Snapshot.Tracking = &app.Tracking{Base: "https://t.example", Click: true, Open: true}
			mail, err := Compile(broadcast)
			if err != nil {
				b.Fatal(err)
			}
			s := apptest.Sealer(b, 0)
			r := &app.BroadcastRecipient{ID: testRecipient, Email: "ann@example.org", Fields: map[string]string{
				"first_name": "Ann", "property:city": "Rome", "property:items": strings.Repeat("item,", 19) + "item"}}
			for b.Loop() {
				if _, err := mail.Mail(s, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
