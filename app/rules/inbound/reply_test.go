package inbound

import (
	"html"
	"strings"
	"testing"
)

// language has what mail programs write in a language.
type language struct {
	gmail, apple, thunderbird, yahoo string
	from, sent, to, subject          string
	original                         string
	iphone, outlook                  string
}

var languages = map[string]language{
	"en": {"On Mon, Jan 5, 2026 at 3:04 PM Ann Example <ann@shop.test> wrote:", "On 5 Jan 2026, at 15:04, Ann Example <ann@shop.test> wrote:", "On 1/5/26 15:04, Ann Example wrote:", "On Monday, January 5, 2026 at 03:04:05 PM GMT+1, Ann Example <ann@shop.test> wrote:",
		"From", "Sent", "To", "Subject", "-----Original Message-----", "Sent from my iPhone", "Get Outlook for iOS<https://aka.ms/x>"},
	"de": {"Am Mo., 5. Jan. 2026 um 15:04 Uhr schrieb Ann Example <ann@shop.test>:", "Am 05.01.2026 um 15:04 schrieb Ann Example <ann@shop.test>:", "Am 05.01.26 um 15:04 schrieb Ann Example:", "Am Montag, 5. Januar 2026, 15:04:05 MEZ hat Ann Example <ann@shop.test> Folgendes geschrieben:",
		"Von", "Gesendet", "An", "Betreff", "-----Ursprüngliche Nachricht-----", "Von meinem iPhone gesendet", "Outlook für iOS<https://aka.ms/x> beziehen"},
	"fr": {"Le lun. 5 janv. 2026 à 15:04, Ann Example <ann@shop.test> a écrit :", "Le 5 janv. 2026 à 15:04, Ann Example <ann@shop.test> a écrit :", "Le 05/01/2026 à 15:04, Ann Example a écrit\u00a0:", "Le lundi 5 janvier 2026 à 15:04:05 UTC+1, Ann Example <ann@shop.test> a écrit :",
		"De", "Envoyé", "À", "Objet", "-----Message d'origine-----", "Envoyé de mon iPhone", "Obtenez Outlook pour iOS<https://aka.ms/x>"},
	"es": {"El lun, 5 ene 2026 a las 15:04, Ann Example (<ann@shop.test>) escribió:", "El 5 ene 2026, a las 15:04, Ann Example <ann@shop.test> escribió:", "El 5/1/26 a las 15:04, Ann Example escribió:", "El lunes, 5 de enero de 2026, 15:04:05 CET, Ann Example <ann@shop.test> escribió:",
		"De", "Enviado el", "Para", "Asunto", "-----Mensaje original-----", "Enviado desde mi iPhone", "Obtener Outlook para iOS<https://aka.ms/x>"},
	"pt": {"Em seg., 5 de jan. de 2026 às 15:04, Ann Example <ann@shop.test> escreveu:", "No dia 05/01/2026, às 15:04, Ann Example <ann@shop.test> escreveu:", "Em 05/01/2026 15:04, Ann Example escreveu:", "Em segunda-feira, 5 de janeiro de 2026 15:04:05 BRT, Ann Example <ann@shop.test> escreveu:",
		"De", "Enviada em", "Para", "Assunto", "-----Mensagem original-----", "Enviado do meu iPhone", "Obter o Outlook para iOS<https://aka.ms/x>"},
	"it": {"Il giorno lun 5 gen 2026 alle ore 15:04 Ann Example <ann@shop.test> ha scritto:", "Il giorno 5 gen 2026, alle ore 15:04, Ann Example <ann@shop.test> ha scritto:", "Il 05/01/2026 15:04, Ann Example ha scritto:", "Il lunedì 5 gennaio 2026 alle ore 15:04:05 CET, Ann Example <ann@shop.test> ha scritto:",
		"Da", "Inviato", "A", "Oggetto", "-----Messaggio originale-----", "Inviato da iPhone", "Ottieni Outlook per iOS<https://aka.ms/x>"},
	"nl": {"Op ma 5 jan 2026 om 15:04 schreef Ann Example <ann@shop.test>:", "Op 5 jan 2026, om 15:04 heeft Ann Example <ann@shop.test> het volgende geschreven:", "Op 05-01-2026 om 15:04 schreef Ann Example:", "Op maandag 5 januari 2026 om 15:04:05 CET schreef Ann Example <ann@shop.test>:",
		"Van", "Verzonden", "Aan", "Onderwerp", "-----Oorspronkelijk bericht-----", "Verstuurd vanaf mijn iPhone", "Outlook voor iOS<https://aka.ms/x> downloaden"},
	"pl": {"pon., 5 sty 2026 o 15:04 Ann Example <ann@shop.test> napisał(a):", "Wiadomość napisana przez Ann Example <ann@shop.test> w dniu 5 sty 2026, o godz. 15:04:", "W dniu 5.01.2026 o 15:04, Ann Example pisze:", "W dniu poniedziałek, 5 stycznia 2026 15:04:05 CET użytkownik Ann Example <ann@shop.test> napisał:",
		"Od", "Wysłano", "Do", "Temat", "-----Wiadomość oryginalna-----", "Wysłane z iPhone'a", "Pobierz aplikację Outlook dla systemu iOS<https://aka.ms/x>"},
	"ja": {"2026年1月5日(月) 15:04 Ann Example <ann@shop.test>:", "2026/01/05 15:04、Ann Example <ann@shop.test>のメール:", "On 2026/01/05 15:04, Ann Example wrote:", "2026年1月5日月曜日 15:04:05 JST、Ann Example <ann@shop.test>さんは書きました：",
		"差出人", "送信日時", "宛先", "件名", "-----元のメッセージ-----", "iPhoneから送信", "iOS 版 Outlook を入手<https://aka.ms/x>"},
	"zh": {"Ann Example <ann@shop.test> 于2026年1月5日周一 15:04写道：", "在 2026年1月5日，15:04，Ann Example <ann@shop.test> 写道：", "在 2026/1/5 15:04, Ann Example 写道:", "在 2026年1月5日星期一 GMT+8 15:04:05， Ann Example <ann@shop.test> 写道：",
		"发件人", "发送时间", "收件人", "主题", "-----原始邮件-----", "发自我的 iPhone", "获取 Outlook for iOS<https://aka.ms/x>"},
}

const (
	ours   = "Hello Bo,\n\nyour order has left.\n\nAnn"
	theirs = "Thank you!\n\nWhen does it arrive?"
)

func marked(s string) string { return "> " + strings.ReplaceAll(s, "\n", "\n> ") }

func (l language) labels() string {
	return l.from + ": Ann Example <ann@shop.test>\n" + l.sent + ": 5 January 2026 15:04\n" + l.to + ": Bo <bo@far.test>\n" + l.subject + ": Your order\n"
}

func paragraphs(s string) string {
	return "<p>" + strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(s), "\n\n", "</p><p>"), "\n", "<br>") + "</p>"
}

func (l language) htmlLabels() string {
	out := ""
	for line := range strings.SplitSeq(strings.TrimSpace(l.labels()), "\n") {
		name, value, _ := strings.Cut(line, ":")
		out += "<b>" + name + ":</b>" + html.EscapeString(value) + "<br>"
	}
	return out
}

// textReplies are answers of mail programs as text.
func textReplies(l language) map[string]string {
	cut := strings.LastIndex(l.gmail, " ")
	return map[string]string{
		"Gmail":               theirs + "\n\n" + l.gmail + "\n\n" + marked(ours) + "\n",
		"Gmail, wrapped":      theirs + "\n\n" + l.gmail[:cut] + "\n" + l.gmail[cut+1:] + "\n\n" + marked(ours) + "\n",
		"Gmail, signature":    theirs + "\n\n-- \nBo Far\nFar Ltd\n\n" + l.gmail + "\n\n" + marked(ours) + "\n",
		"Apple Mail":          theirs + "\n\n" + marked(l.apple+"\n\n"+ours) + "\n",
		"Apple Mail, old":     theirs + "\n\n" + l.apple + "\n\n" + marked(ours) + "\n",
		"iPhone":              theirs + "\n\n" + l.iphone + "\n\n" + marked(l.apple+"\n\n"+ours) + "\n",
		"iPhone, no marks":    theirs + "\n\n" + l.iphone + "\n\n" + l.apple + "\n\n" + ours + "\n",
		"Thunderbird":         theirs + "\n\n" + l.thunderbird + "\n" + marked(ours) + "\n",
		"Thunderbird, below":  l.thunderbird + "\n" + marked(ours) + "\n\n" + theirs + "\n-- \nBo",
		"Outlook":             theirs + "\n\n" + l.labels() + "\n" + ours + "\n",
		"Outlook, old":        theirs + "\n\n" + l.original + "\n" + l.labels() + "\n" + ours + "\n",
		"Outlook, bold":       theirs + "\n\n*" + strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(l.labels(), ": ", ":* ")), "\n", "\n*") + "\n\n" + ours + "\n",
		"Outlook on the web":  theirs + "\n________________________________\n" + l.labels() + "\n" + ours + "\n",
		"Outlook on a phone":  theirs + "\n\n" + l.outlook + "\n________________________________\n" + l.labels() + "\n" + ours + "\n",
		"Yahoo":               theirs + "\n\n    " + l.yahoo + "  \n \n " + ours + "\n",
		"Yahoo with > marks":  theirs + "\n\n" + l.yahoo + "\n" + marked(ours),
		"original, > marks":   theirs + "\n\n" + l.original + "\n" + l.thunderbird + "\n\n" + marked(ours) + "\n",
		"only a phone's line": theirs + "\n\n" + l.iphone,
	}
}

// htmlReplies are answers of mail programs as HTML.
func htmlReplies(l language) map[string]string {
	esc := html.EscapeString
	return map[string]string{
		"Gmail":              `<div dir="ltr">` + paragraphs(theirs) + `<span class="gmail_signature_prefix">-- </span><div class="gmail_signature">Bo</div></div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">` + esc(l.gmail) + `<br></div><blockquote class="gmail_quote" style="margin:0">` + paragraphs(ours) + `</blockquote></div>`,
		"Gmail, old":         paragraphs(theirs) + `<div class="gmail_quote">` + esc(l.gmail) + `<br><blockquote class="gmail_quote">` + paragraphs(ours) + `</blockquote></div>`,
		"Apple Mail":         `<html><body>` + paragraphs(theirs) + `<br><div><blockquote type="cite"><div>` + esc(l.apple) + `</div><br class="Apple-interchange-newline"><div>` + paragraphs(ours) + `</div></blockquote></div><br></body></html>`,
		"iPhone":             paragraphs(theirs) + `<div dir="ltr">` + esc(l.iphone) + `</div><div dir="ltr"><br><blockquote type="cite">` + esc(l.apple) + `<br><br></blockquote></div><blockquote type="cite">` + paragraphs(ours) + `</blockquote>`,
		"Thunderbird":        paragraphs(theirs) + `<div class="moz-cite-prefix">` + esc(l.thunderbird) + `<br></div><blockquote type="cite" cite="mid:x@y">` + paragraphs(ours) + `</blockquote><div class="moz-signature">-- <br>Bo</div>`,
		"Outlook":            `<div class="WordSection1">` + paragraphs(theirs) + `<div style="border:none;border-top:solid #E1E1E1 1.0pt"><p class="MsoNormal">` + l.htmlLabels() + `</p></div>` + paragraphs(ours) + `</div>`,
		"Outlook on the web": paragraphs(theirs) + `<div id="Signature"><p>Bo Far</p></div><div id="appendonsend"></div><hr style="width:98%"><div id="divRplyFwdMsg" dir="ltr">` + l.htmlLabels() + `</div>` + paragraphs(ours),
		"Outlook on a phone": paragraphs(theirs) + `<div id="ms-outlook-mobile-signature">` + esc(l.outlook) + `</div><hr><div id="divRplyFwdMsg">` + l.htmlLabels() + `</div>` + paragraphs(ours),
		"Yahoo":              paragraphs(theirs) + `<div id="yahoo_quoted_123" class="yahoo_quoted"><div>` + esc(l.yahoo) + `</div>` + paragraphs(ours) + `</div>`,
		"unmarked":           paragraphs(theirs) + `<p>` + esc(l.yahoo) + `</p><blockquote>` + paragraphs(ours) + `</blockquote>`,
	}
}

func TestReplyTextOfMailProgramsInTenLanguages(t *testing.T) {
	for lang, l := range languages {
		for program, text := range textReplies(l) {
			if got := ReplyText(&Message{Subject: "Re: Your order", Text: text}); got != theirs {
				t.Errorf("%s, %s:\n%s\nof\n%s", program, lang, got, text)
			}
		}
		for program, source := range htmlReplies(l) {
			m := parse("Subject: Re: Your order\nContent-Type: text/html; charset=utf-8\n\n" + source)
			if got := ReplyText(m); got != theirs {
				t.Errorf("HTML of %s, %s:\n%s\nof\n%s", program, lang, got, source)
			}
		}
	}
}

func TestReplyText(t *testing.T) {
	const wrote = "On Mon, Jan 5, 2026 at 3:04 PM Ann <ann@shop.test> wrote:\n"
	for name, tt := range map[string]struct{ text, html, want string }{
		"nothing to remove":            {text: "Hi,\n\nall is well.\n\nBo\n", want: "Hi,\n\nall is well.\n\nBo"},
		"CRLF":                         {text: "Yes.\r\n\r\n" + wrote + "\r\n> a\r\n", want: "Yes."},
		"interleaved":                  {text: "Hi\n\n" + wrote + "> One?\nYes.\n> Two?\n\nNo.\n\n> Bye", want: "Hi\n\nYes.\n\nNo."},
		"below the quote":              {text: wrote + "> One?\n> Two?\n\nBoth.", want: "Both."},
		"above and below":              {text: "Top\n" + wrote + "> One?\n\nBottom\n\n-- \nBo\nFar Ltd", want: "Top\n\nBottom"},
		"nested quotes":                {text: "Yes.\n\n" + wrote + ">> a\n> > b\n>c", want: "Yes."},
		"only a quote":                 {text: wrote + "\n> a", want: strings.TrimSpace(wrote) + "\n\n> a"},
		"only a line of a phone":       {text: "Sent from my iPhone", want: "Sent from my iPhone"},
		"the own sentence":             {text: "Sorry, in your mail you wrote:\n\nit is blue\n\nbut it is red.", want: "Sorry, in your mail you wrote:\n\nit is blue\n\nbut it is red."},
		"the own sentence with a day":  {text: "On 3 May 2026 you wrote:\n\nit is blue\n\nbut it is red.", want: "On 3 May 2026 you wrote:\n\nit is blue\n\nbut it is red."},
		"a colleague wrote":            {text: "My colleague bob@far.test wrote:\n\nbuy two.", want: "My colleague bob@far.test wrote:\n\nbuy two."},
		"text directly above":          {text: "A great idea!\n" + wrote + "> a", want: "A great idea!"},
		"a name that begins the line":  {text: "Yes\nOn Mon, Jan 5, 2026 at 3:04 PM Ann van der\nMaria Example <ann@shop.test> wrote:\n> a", want: "Yes"},
		"wrapped twice":                {text: "Yes\n\nOn Mon, Jan 5, 2026 at 3:04 PM\nAnn Example\n<ann@shop.test> wrote:\n\n> a", want: "Yes"},
		"a language that nobody knows": {text: "Bai\n\n2026(e)ko urt. 5(a) 15:04, Ann <ann@shop.test> egileak:\n\n> a", want: "Bai"},
		"a table of a trip":            {text: "From: Berlin\nTo: Paris\nDate: 3 May\n\nPlease book.", want: "From: Berlin\nTo: Paris\nDate: 3 May\n\nPlease book."},
		"a filled form":                {text: "From: Bo <bo@far.test>\nDate: today\nSubject: Hi\n\nCall me.", want: "From: Bo <bo@far.test>\nDate: today\nSubject: Hi\n\nCall me."},
		"a list with dashes":           {text: "Prices:\n--\none\n" + strings.Repeat("line\n", 20) + "end", want: "Prices:\n--\none\n" + strings.Repeat("line\n", 20) + "end"},
		"two dashes":                   {text: "Yes\n--\nBo\n", want: "Yes"},
		"sent with a parcel service":   {text: "It was\nsent from my office yesterday.", want: "It was\nsent from my office yesterday."},
		"sent in the middle":           {text: "Sent from my iPhone it looks odd.\n\nFix it.", want: "Sent from my iPhone it looks odd.\n\nFix it."},
		"a signature, then a phone":    {text: "Yes\n\nSent from Yahoo Mail on Android <https://x.test>\n\n" + wrote + "> a", want: "Yes"},
		"Proton":                       {text: "Yes\n\nSent with Proton Mail secure email.\n\n------- Original Message -------\nOn Monday, January 5th, 2026 at 15:04, Ann <ann@shop.test> wrote:\n\n> a\n", want: "Yes"},
		"Zoho":                         {text: "Yes\n\n---- On Mon, 05 Jan 2026 15:04:05 +0100 Ann <ann@shop.test> wrote ----\n\nold", want: "Yes"},
		"QQ":                           {text: "是的\n\n------------------ 原始邮件 ------------------\n发件人: \"Ann\"<ann@shop.test>;\n发送时间: 2026年1月5日\n收件人: \"Bo\"<bo@far.test>;\n主题: x\n\nold", want: "是的"},
		"Samsung":                      {text: "Yes\n\nSent from my Galaxy\n\n-------- Original message --------\nFrom: Ann <ann@shop.test>\nDate: 05/01/2026 15:04 (GMT+01:00)\nTo: bo@far.test\nSubject: x\n\nold", want: "Yes"},
		"wrapped recipients":           {text: "Yes\n\nFrom: Ann <ann@shop.test>\nSent: Monday\nTo: Bo <bo@far.test>;\n Cy <cy@far.test>\nSubject: x\n\nold", want: "Yes"},
		"Gmail, interleaved":           {html: `<div class="gmail_quote"><div class="gmail_attr">On x Ann wrote:</div><blockquote class="gmail_quote">One?</blockquote><div>Yes.</div><blockquote class="gmail_quote">Two?<blockquote class="gmail_quote">old</blockquote></blockquote><div>No.</div></div>`, want: "Yes.\n\nNo."},
		"HTML marks it better":         {text: "Jes.\n\nsome words of an unknown program\nold text", html: `<p>Jes.</p><blockquote type="cite">old text</blockquote>`, want: "Jes."},
		"text marks it as well":        {text: "Yes *now*.\n\n> old", html: `<p>Yes <b>now</b>.</p><blockquote type="cite">old text</blockquote>`, want: "Yes *now*."},
		"HTML knows the signature":     {text: "Yes.\n\nBo Far\n\n> old", html: `<p>Yes.</p><div id="Signature">Bo Far</div><blockquote type="cite">old</blockquote>`, want: "Yes."},
		"only a quote in HTML":         {text: "All of it", html: `<blockquote type="cite">All of it</blockquote>`, want: "All of it"},
		"a quotation of the author":    {html: `<p>As they say:</p><blockquote>Well done</blockquote><p>Bo</p>`, want: "As they say:\n\nWell done\n\nBo"},
		"a quote that never ends":      {html: `<p>Yes</p><blockquote type=cite><div>old`, want: "Yes"},
		"empty":                        {},
	} {
		m := &Message{Text: tt.text, HTML: tt.html, Subject: "Re: x"}
		if tt.text == "" {
			m = parse("Subject: Re: x\nContent-Type: text/html; charset=utf-8\n\n" + tt.html)
		}
		if got := ReplyText(m); got != tt.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, tt.want)
		}
	}
}

func TestReplyTextKeepsForwardedMail(t *testing.T) {
	for _, subject := range []string{"Fwd: x", "FW: x", "WG: x", "TR : x", "TR: x", "RV: x", "转发: x"} {
		text := "See below.\n\nFrom: Ann <ann@shop.test>\nSent: today\nSubject: x\n\n> a"
		if got := ReplyText(&Message{Subject: subject, Text: text}); got != text {
			t.Errorf("%s: %q", subject, got)
		}
	}
}
