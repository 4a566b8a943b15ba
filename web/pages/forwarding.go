package pages

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/sending/mailroutes"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// The input of the page of a destination, and its values: which button was pressed. Some scanners post forms without
// their buttons, and then nothing changes.
const (
	forwardingInput = "forwarding"
	decideAgree     = "agree"
	decideStop      = "stop"
)

type forwardingPageInput struct {
	Token    string `path:"token" doc:"The signed token of the link; it never expires"`
	Accepted string `header:"Accept-Language" doc:"Which languages the reader likes best"`
	Language string `query:"language" doc:"The language to show instead, like de"`
}

// registerForwarding adds the page on which the owner of an address agrees that a team forwards mail to it, or stops it.
func registerForwarding(h *rest.Handler, service *mailroutes.Service, p *pages) {
	show := func(ctx context.Context, _ *rest.Exchange, in *forwardingPageInput) (*mailroutes.PageView, error) {
		return service.Page(ctx, in.Token)
	}
	decide := func(ctx context.Context, x *rest.Exchange, in *forwardingPageInput) (*mailroutes.PageView, error) {
		entered, err := readEntries(x)
		if err != nil {
			return nil, err
		}
		switch entered.value(forwardingInput) {
		case decideAgree:
			return service.Decide(ctx, in.Token, true)
		case decideStop:
			return service.Decide(ctx, in.Token, false)
		}
		return service.Page(ctx, in.Token)
	}
	for _, r := range []struct {
		method, id, summary string
		read                func(context.Context, *rest.Exchange, *forwardingPageInput) (*mailroutes.PageView, error)
	}{
		{http.MethodGet, "get-forwarding-page", "Show the page of a link by which a person agrees to receive forwarded mail, or stops it", show},
		{http.MethodHead, "head-forwarding-page", "Check the link of a page about forwarded mail", show},
		{http.MethodPost, "decide-forwarding", "Agree to receive forwarded mail, or stop it, by a button of the page", decide},
	} {
		rt := rest.Route{Public: true, Refuse: p.refuse}
		if r.method == http.MethodPost {
			rt.Body, rt.MaxBody = true, maxForm
		}
		op := openapi.Operation{OperationID: r.id, Method: r.method, Path: "/forwarding/{token}", Summary: r.summary, Tags: []string{"Hosted pages"}}
		added := rest.RegisterRaw(h, rt, op, func(ctx context.Context, x *rest.Exchange, in *forwardingPageInput) (*rest.SelfWritten, error) {
			t := p.textOf(&pageInput{Accepted: in.Accepted, Language: in.Language})
			v, err := r.read(ctx, x, in)
			page := (*hostedPage)(nil)
			if err != nil {
				page = errorPage(h.ErrorFor(x, err), t)
			} else {
				page = forwardingPage(v, t)
			}
			return &rest.SelfWritten{Body: func() { p.write(x, page, t) }}, nil
		})
		h.OnDocument(func(*openapi.Document) { documentPage(h, added) })
	}
}

// forwardingPage shows whether mail is forwarded to an address, with the buttons that change it.
func forwardingPage(v *mailroutes.PageView, t *pageText) *hostedPage {
	w, f := words{team: v.Brand.Team, email: v.Address}, t.forwarding
	title, lines := f.ask, []string{f.askMore}
	switch v.Status {
	case app.ForwardAgreed:
		title, lines = f.on, []string{f.onMore}
	case app.ForwardStopped:
		title, lines = f.off, []string{f.offMore}
	case app.ForwardPaused:
		title, lines = f.paused, []string{f.pausedMore}
	}
	page := newSignUpPage(w, title)
	page.Theme = themeOf(&v.Brand)
	for _, line := range lines {
		page.Lines = append(page.Lines, w.fill(line))
	}
	page.Form = "<form" + attributes("method", "post", "accept-charset", "utf-8") + ">\n"
	if v.MayAgree && v.Status != app.ForwardAgreed {
		page.Form += forwardingButton(decideAgree, "", f.agree)
	}
	switch v.Status {
	case app.ForwardWaiting:
		page.Form += forwardingButton(decideStop, "second", f.never)
	case app.ForwardAgreed, app.ForwardPaused:
		page.Form += forwardingButton(decideStop, "second", f.stop)
	}
	page.Form += "</form>\n"
	return page
}

func forwardingButton(decision, class, label string) markup {
	return "<button" + attributes("type", "submit", "name", forwardingInput, "value", decision, given(class != "", "class"), class) + ">" + escaped(label) + "</button>\n"
}

// forwardingText holds the texts of the page about forwarded mail in one language, as signUpText does.
type forwardingText struct {
	ask        string
	askMore    string
	agree      string // button
	never      string // button
	on         string
	onMore     string
	stop       string // button
	off        string
	offMore    string
	paused     string // too many refusals
	pausedMore string
}

func englishForwarding() *forwardingText {
	return &forwardingText{
		ask: "Receive forwarded mail?", askMore: "{team} asks to forward mail that arrives at its addresses to {email}. Nothing is forwarded unless you agree.",
		agree: "Receive it", never: "Don’t ask again",
		on: "You receive forwarded mail", onMore: "{team} forwards mail that arrives at its addresses to {email}.", stop: "Stop forwarding",
		off: "Nothing is forwarded to you", offMore: "{team} forwards no mail to {email}, and can’t ask again.",
		paused: "Forwarding is paused", pausedMore: "The mail server of {email} refused several emails that {team} forwarded.",
	}
}

func germanForwarding() *forwardingText {
	return &forwardingText{
		ask: "Weitergeleitete E-Mails empfangen?", askMore: "{team} möchte E-Mails, die an den eigenen Adressen ankommen, an {email} weiterleiten. Ohne Ihre Zustimmung wird nichts weitergeleitet.",
		agree: "Empfangen", never: "Nicht mehr fragen",
		on: "Sie empfangen weitergeleitete E-Mails", onMore: "{team} leitet E-Mails, die an den eigenen Adressen ankommen, an {email} weiter.", stop: "Weiterleitung beenden",
		off: "Es wird nichts an Sie weitergeleitet", offMore: "{team} leitet keine E-Mails an {email} weiter und kann nicht erneut fragen.",
		paused: "Die Weiterleitung ruht", pausedMore: "Der Mailserver von {email} hat mehrere E-Mails abgelehnt, die {team} weitergeleitet hat.",
	}
}

func frenchForwarding() *forwardingText {
	return &forwardingText{
		ask: "Recevoir des e-mails transférés ?", askMore: "{team} souhaite transférer à {email} les e-mails qui arrivent à ses adresses. Rien n’est transféré sans votre accord.",
		agree: "Les recevoir", never: "Ne plus me le demander",
		on: "Vous recevez des e-mails transférés", onMore: "{team} transfère à {email} les e-mails qui arrivent à ses adresses.", stop: "Arrêter le transfert",
		off: "Rien ne vous est transféré", offMore: "{team} ne transfère aucun e-mail à {email} et ne peut plus le demander.",
		paused: "Le transfert est suspendu", pausedMore: "Le serveur de messagerie de {email} a refusé plusieurs e-mails transférés par {team}.",
	}
}

func spanishForwarding() *forwardingText {
	return &forwardingText{
		ask: "¿Recibir correo reenviado?", askMore: "{team} quiere reenviar a {email} el correo que llega a sus direcciones. No se reenvía nada sin su consentimiento.",
		agree: "Recibirlo", never: "No volver a preguntar",
		on: "Recibe correo reenviado", onMore: "{team} reenvía a {email} el correo que llega a sus direcciones.", stop: "Detener el reenvío",
		off: "No se le reenvía nada", offMore: "{team} no reenvía correo a {email} y no puede volver a preguntar.",
		paused: "El reenvío está en pausa", pausedMore: "El servidor de correo de {email} rechazó varios mensajes que {team} reenvió.",
	}
}

func portugueseForwarding() *forwardingText {
	return &forwardingText{
		ask: "Receber e-mails encaminhados?", askMore: "{team} quer encaminhar para {email} os e-mails que chegam aos seus endereços. Nada é encaminhado sem o seu consentimento.",
		agree: "Receber", never: "Não perguntar novamente",
		on: "Você recebe e-mails encaminhados", onMore: "{team} encaminha para {email} os e-mails que chegam aos seus endereços.", stop: "Parar o encaminhamento",
		off: "Nada é encaminhado para você", offMore: "{team} não encaminha e-mails para {email} e não pode perguntar novamente.",
		paused: "O encaminhamento está pausado", pausedMore: "O servidor de e-mail de {email} recusou vários e-mails que {team} encaminhou.",
	}
}

func italianForwarding() *forwardingText {
	return &forwardingText{
		ask: "Ricevere e-mail inoltrate?", askMore: "{team} chiede di inoltrare a {email} le e-mail che arrivano ai propri indirizzi. Nulla viene inoltrato senza il Suo consenso.",
		agree: "Riceverle", never: "Non chiedere più",
		on: "Riceve e-mail inoltrate", onMore: "{team} inoltra a {email} le e-mail che arrivano ai propri indirizzi.", stop: "Interrompere l’inoltro",
		off: "Non Le viene inoltrato nulla", offMore: "{team} non inoltra e-mail a {email} e non può chiederlo di nuovo.",
		paused: "L’inoltro è in pausa", pausedMore: "Il server di posta di {email} ha rifiutato diverse e-mail inoltrate da {team}.",
	}
}

func dutchForwarding() *forwardingText {
	return &forwardingText{
		ask: "Doorgestuurde e-mail ontvangen?", askMore: "{team} wil e-mail die op de eigen adressen binnenkomt doorsturen naar {email}. Zonder uw toestemming wordt niets doorgestuurd.",
		agree: "Ontvangen", never: "Niet meer vragen",
		on: "U ontvangt doorgestuurde e-mail", onMore: "{team} stuurt e-mail die op de eigen adressen binnenkomt door naar {email}.", stop: "Doorsturen stoppen",
		off: "Er wordt niets naar u doorgestuurd", offMore: "{team} stuurt geen e-mail door naar {email} en kan het niet opnieuw vragen.",
		paused: "Het doorsturen is gepauzeerd", pausedMore: "De mailserver van {email} heeft meerdere e-mails geweigerd die {team} doorstuurde.",
	}
}

func polishForwarding() *forwardingText {
	return &forwardingText{
		ask: "Odbierać przekazywane wiadomości?", askMore: "{team} chce przekazywać na adres {email} wiadomości, które przychodzą na jego adresy. Bez Państwa zgody nic nie jest przekazywane.",
		agree: "Odbieraj", never: "Nie pytaj więcej",
		on: "Odbierają Państwo przekazywane wiadomości", onMore: "{team} przekazuje na adres {email} wiadomości, które przychodzą na jego adresy.", stop: "Zatrzymaj przekazywanie",
		off: "Nic nie jest do Państwa przekazywane", offMore: "{team} nie przekazuje wiadomości na adres {email} i nie może zapytać ponownie.",
		paused: "Przekazywanie jest wstrzymane", pausedMore: "Serwer poczty adresu {email} odrzucił kilka wiadomości, które przekazał {team}.",
	}
}

func japaneseForwarding() *forwardingText {
	return &forwardingText{
		ask: "転送メールを受け取りますか？", askMore: "{team} は、自社のアドレスに届いたメールを {email} に転送することを希望しています。同意がない限り、何も転送されません。",
		agree: "受け取る", never: "今後たずねない",
		on: "転送メールを受け取っています", onMore: "{team} は、自社のアドレスに届いたメールを {email} に転送しています。", stop: "転送を停止する",
		off: "何も転送されません", offMore: "{team} は {email} にメールを転送せず、再びたずねることもできません。",
		paused: "転送は一時停止中です", pausedMore: "{email} のメールサーバーが、{team} の転送したメールを何度か拒否しました。",
	}
}

func chineseForwarding() *forwardingText {
	return &forwardingText{
		ask: "要接收转发的邮件吗？", askMore: "{team} 希望将其地址收到的邮件转发到 {email}。未经您同意，不会转发任何邮件。",
		agree: "接收", never: "不再询问",
		on: "您正在接收转发的邮件", onMore: "{team} 会将其地址收到的邮件转发到 {email}。", stop: "停止转发",
		off: "不会向您转发任何邮件", offMore: "{team} 不会向 {email} 转发邮件，也无法再次询问。",
		paused: "转发已暂停", pausedMore: "{email} 的邮件服务器拒收了 {team} 转发的多封邮件。",
	}
}
