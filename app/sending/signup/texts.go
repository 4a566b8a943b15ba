package signup

// mailTexts are the texts of the built-in confirmation in a language. {team} is the name of the team.
type mailTexts struct {
	subject, ask, topics, confirm, valid, ignore, refuse string
}

// texts are the texts by language of app.Languages.
var texts = map[string]*mailTexts{
	"en": {
		subject: "Please confirm: mail from {team}",
		ask:     "Somebody, probably you, asked {team} to send mail to this address. Please confirm that you want it.",
		topics:  "Asked for:",
		confirm: "Confirm",
		valid:   "The link works for 7 days.",
		ignore:  "If you did not ask for this, you need do nothing: without your confirmation nothing else is sent. You can also tell us:",
		refuse:  "This was not me",
	},
	"de": {
		subject: "Bitte bestätigen: E-Mails von {team}",
		ask:     "Jemand, wahrscheinlich Sie, hat {team} gebeten, E-Mails an diese Adresse zu senden. Bitte bestätigen Sie, dass Sie das möchten.",
		topics:  "Gewünscht wurde:",
		confirm: "Bestätigen",
		valid:   "Der Link gilt 7 Tage.",
		ignore:  "Falls Sie das nicht waren, müssen Sie nichts tun: Ohne Ihre Bestätigung wird nichts weiter gesendet. Sie können es uns auch mitteilen:",
		refuse:  "Das war ich nicht",
	},
	"fr": {
		subject: "Veuillez confirmer : e-mails de {team}",
		ask:     "Quelqu’un, sans doute vous, a demandé à {team} d’envoyer des e-mails à cette adresse. Veuillez confirmer que vous le souhaitez.",
		topics:  "Demandé :",
		confirm: "Confirmer",
		valid:   "Le lien est valable 7 jours.",
		ignore:  "Si ce n’était pas vous, vous n’avez rien à faire : sans votre confirmation, rien d’autre ne sera envoyé. Vous pouvez aussi nous le signaler :",
		refuse:  "Ce n’était pas moi",
	},
	"es": {
		subject: "Confirma, por favor: correos de {team}",
		ask:     "Alguien, probablemente tú, pidió a {team} que envíe correos a esta dirección. Confirma que los quieres recibir.",
		topics:  "Se pidió:",
		confirm: "Confirmar",
		valid:   "El enlace es válido durante 7 días.",
		ignore:  "Si no fuiste tú, no tienes que hacer nada: sin tu confirmación no se envía nada más. También puedes avisarnos:",
		refuse:  "No fui yo",
	},
	"pt": {
		subject: "Confirme, por favor: e-mails de {team}",
		ask:     "Alguém, provavelmente você, pediu a {team} que envie e-mails para este endereço. Confirme que deseja recebê-los.",
		topics:  "Foi pedido:",
		confirm: "Confirmar",
		valid:   "O link é válido por 7 dias.",
		ignore:  "Se não foi você, não precisa fazer nada: sem a sua confirmação, nada mais será enviado. Também pode nos avisar:",
		refuse:  "Não fui eu",
	},
	"it": {
		subject: "Conferma, per favore: e-mail da {team}",
		ask:     "Qualcuno, probabilmente tu, ha chiesto a {team} di inviare e-mail a questo indirizzo. Conferma che le vuoi ricevere.",
		topics:  "Richiesto:",
		confirm: "Conferma",
		valid:   "Il link è valido per 7 giorni.",
		ignore:  "Se non sei stato tu, non devi fare nulla: senza la tua conferma non verrà inviato altro. Puoi anche avvisarci:",
		refuse:  "Non sono stato io",
	},
	"nl": {
		subject: "Bevestig alstublieft: e-mails van {team}",
		ask:     "Iemand, waarschijnlijk u, heeft {team} gevraagd e-mails naar dit adres te sturen. Bevestig dat u die wilt ontvangen.",
		topics:  "Gevraagd:",
		confirm: "Bevestigen",
		valid:   "De link is 7 dagen geldig.",
		ignore:  "Was u dit niet, dan hoeft u niets te doen: zonder uw bevestiging wordt er niets meer verstuurd. U kunt het ons ook laten weten:",
		refuse:  "Dit was ik niet",
	},
	"pl": {
		subject: "Prosimy o potwierdzenie: wiadomości od {team}",
		ask:     "Ktoś, zapewne Ty, poprosił {team} o wysyłanie wiadomości na ten adres. Potwierdź, że chcesz je otrzymywać.",
		topics:  "Zamówiono:",
		confirm: "Potwierdź",
		valid:   "Link działa przez 7 dni.",
		ignore:  "Jeśli to nie Ty, nie musisz nic robić: bez Twojego potwierdzenia nic więcej nie zostanie wysłane. Możesz nam też o tym powiedzieć:",
		refuse:  "To nie ja",
	},
	"ja": {
		subject: "ご確認ください：{team} からのメール",
		ask:     "どなたか（おそらくご本人）が、{team} からのメールをこのアドレスに送るよう申し込みました。受け取りをご希望の場合は、ご確認をお願いします。",
		topics:  "お申し込みの内容：",
		confirm: "確認する",
		valid:   "リンクは7日間有効です。",
		ignore:  "お心当たりがない場合は、何もする必要はありません。確認されない限り、ほかのメールは送られません。次のリンクからお知らせいただくこともできます。",
		refuse:  "私ではありません",
	},
	"zh": {
		subject: "请确认：来自 {team} 的邮件",
		ask:     "有人（可能是您本人）请求 {team} 向此地址发送邮件。请确认您希望收到这些邮件。",
		topics:  "请求的内容：",
		confirm: "确认",
		valid:   "此链接在 7 天内有效。",
		ignore:  "如果不是您本人，您无需任何操作：未经您确认，不会再发送其他邮件。您也可以告诉我们：",
		refuse:  "这不是我",
	},
}
