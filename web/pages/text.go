package pages

// pageText holds all texts of the hosted pages in one language. {team} and {topic} are replaced by
// names. A text with a placeholder must have it in all languages.
type pageText struct {
	lang string // BCP 47, for <html lang>

	unsubscribe     string // title and button
	askTopic        string
	askTopicMore    string
	askAll          string
	askAllMore      string
	stillReach      string // what an opt-out of everything does not cover
	done            string
	doneTopic       string
	doneAll         string
	preferencesLink string

	preferences string
	choose      string
	topics      string // label of the list of boxes, for screen readers
	save        string
	saved       string
	allLink     string
	allOff      string
	allOffMore  string // explanation of the choices in that case
	noTopics    string

	notFound     string
	notFoundMore string
	later        string // internal error
	laterMore    string
	unclear      string // unreadable body
	unclearMore  string
	often        string // too many choices at the same time
	oftenMore    string

	orphaned     string // link of a deleted email or team
	orphanedMore string // before its target
	follow       string

	from, to, date string // of a shared email
	dateForm       string // layout of times, in UTC
	showImages     string
	sharedGone     string // expired link to an email
	sharedGoneMore string

	signUp     *signUpText
	forwarding *forwardingText
}

// pageTexts returns the languages; the first one is the default.
func pageTexts() []*pageText {
	return []*pageText{
		english(), german(), french(), spanish(), portuguese(), italian(), dutch(), polish(), japanese(), chinese(),
	}
}

func english() *pageText {
	return &pageText{
		lang:       "en",
		showImages: "Show images", sharedGone: "This link has expired or is not valid",
		sharedGoneMore: "Ask whoever shared the email with you for a new link.",
		from:           "From", to: "To", date: "Date", dateForm: "2 January 2006, 15:04 UTC",
		signUp: englishSignUp(), forwarding: englishForwarding(),
		unsubscribe:     "Unsubscribe",
		askTopic:        "Unsubscribe from “{topic}”?",
		askTopicMore:    "Press the button and you will no longer receive “{topic}” from {team}. Nothing else changes.",
		askAll:          "Unsubscribe from all mailings?",
		askAllMore:      "Press the button and you will no longer receive mailings from {team}.",
		stillReach:      "Messages that you may need, such as receipts or password resets, can still reach you.",
		done:            "You are unsubscribed",
		doneTopic:       "You will no longer receive “{topic}” from {team}.",
		doneAll:         "You will no longer receive mailings from {team}.",
		preferencesLink: "Choose what you receive",
		preferences:     "Your email preferences",
		choose:          "Choose what you would like to receive from {team}.",
		topics:          "Mailings",
		save:            "Save",
		saved:           "Your choices have been saved.",
		allLink:         "Unsubscribe from all mailings",
		allOff:          "You are unsubscribed from all mailings from {team}, and only {team} can switch them on again.",
		allOffMore:      "Your choices here will apply from then on.",
		noTopics:        "There is nothing to choose from at the moment.",
		notFound:        "Page not found",
		notFoundMore:    "This link is not valid. Please check that it was copied in full, or use the link in the latest email you received.",
		later:           "Please try again later",
		laterMore:       "Something went wrong on our side. Please try again in a few minutes.",
		unclear:         "That did not work",
		unclearMore:     "Your request could not be read, and nothing was changed. Please go back and try again.",
		often:           "That was too often",
		oftenMore:       "You changed your choices many times in a short while. What you see may not be saved: please try again in a minute.",
		orphaned:        "Check where this link leads",
		orphanedMore:    "The email with this link, or its sender, no longer exists. This server can’t tell whether the link is safe. It leads to:",
		follow:          "Follow the link",
	}
}

func german() *pageText {
	return &pageText{
		lang:       "de",
		showImages: "Bilder anzeigen", sharedGone: "Dieser Link ist abgelaufen oder ungültig",
		sharedGoneMore: "Bitten Sie die Person, die die E-Mail mit Ihnen geteilt hat, um einen neuen Link.",
		from:           "Von", to: "An", date: "Datum", dateForm: "2.1.2006, 15:04 UTC",
		signUp: germanSignUp(), forwarding: germanForwarding(),
		unsubscribe:     "Abbestellen",
		askTopic:        "„{topic}“ abbestellen?",
		askTopicMore:    "Wenn Sie auf die Schaltfläche klicken, erhalten Sie „{topic}“ von {team} nicht mehr. Sonst ändert sich nichts.",
		askAll:          "Alle Mailings abbestellen?",
		askAllMore:      "Wenn Sie auf die Schaltfläche klicken, erhalten Sie keine Mailings von {team} mehr.",
		stillReach:      "Wichtige Nachrichten, etwa Rechnungen oder E-Mails zum Zurücksetzen eines Passworts, können Sie weiterhin erreichen.",
		done:            "Sie sind abgemeldet",
		doneTopic:       "Sie erhalten „{topic}“ von {team} nicht mehr.",
		doneAll:         "Sie erhalten keine Mailings von {team} mehr.",
		preferencesLink: "Auswählen, was Sie erhalten",
		preferences:     "Ihre E-Mail-Einstellungen",
		choose:          "Wählen Sie aus, was Sie von {team} erhalten möchten.",
		topics:          "Themen",
		save:            "Speichern",
		saved:           "Ihre Auswahl wurde gespeichert.",
		allLink:         "Alle Mailings abbestellen",
		allOff:          "Sie haben alle Mailings von {team} abbestellt, und nur {team} kann sie wieder einschalten.",
		allOffMore:      "Ab dann gilt Ihre Auswahl auf dieser Seite.",
		noTopics:        "Zurzeit gibt es hier nichts auszuwählen.",
		notFound:        "Seite nicht gefunden",
		notFoundMore:    "Dieser Link ist ungültig. Bitte prüfen Sie, ob er vollständig kopiert wurde, oder verwenden Sie den Link aus der neuesten E-Mail, die Sie erhalten haben.",
		later:           "Bitte versuchen Sie es später noch einmal",
		laterMore:       "Bei uns ist ein Fehler aufgetreten. Bitte versuchen Sie es in einigen Minuten noch einmal.",
		unclear:         "Das hat nicht geklappt",
		unclearMore:     "Ihre Anfrage konnte nicht gelesen werden, und es wurde nichts geändert. Bitte gehen Sie zurück und versuchen Sie es noch einmal.",
		often:           "Das war zu oft",
		oftenMore:       "Sie haben Ihre Auswahl in kurzer Zeit oft geändert. Ihre letzte Auswahl ist vielleicht nicht gespeichert: Bitte versuchen Sie es in einer Minute noch einmal.",
		orphaned:        "Prüfen Sie, wohin dieser Link führt",
		orphanedMore:    "Die E-Mail mit diesem Link oder ihr Absender ist nicht mehr vorhanden. Ob der Link sicher ist, lässt sich nicht mehr prüfen. Er führt zu:",
		follow:          "Link öffnen",
	}
}

func french() *pageText {
	return &pageText{
		lang:       "fr",
		showImages: "Afficher les images", sharedGone: "Ce lien a expiré ou n’est pas valide",
		sharedGoneMore: "Demandez un nouveau lien à la personne qui a partagé l’e-mail avec vous.",
		from:           "De", to: "À", date: "Envoyé le", dateForm: "02/01/2006 15:04 UTC",
		signUp: frenchSignUp(), forwarding: frenchForwarding(),
		unsubscribe:     "Se désabonner",
		askTopic:        "Se désabonner de «\u00a0{topic}\u00a0»\u00a0?",
		askTopicMore:    "En appuyant sur le bouton, vous ne recevrez plus «\u00a0{topic}\u00a0» envoyé par {team}. Rien d’autre ne change.",
		askAll:          "Se désabonner de tous les envois\u00a0?",
		askAllMore:      "En appuyant sur le bouton, vous ne recevrez plus les envois de la part de {team}.",
		stillReach:      "Les messages utiles, comme les reçus ou la réinitialisation d’un mot de passe, pourront toujours vous parvenir.",
		done:            "Désabonnement confirmé",
		doneTopic:       "Vous ne recevrez plus «\u00a0{topic}\u00a0» envoyé par {team}.",
		doneAll:         "Vous ne recevrez plus les envois de la part de {team}.",
		preferencesLink: "Choisir ce que vous recevez",
		preferences:     "Vos préférences d’e-mail",
		choose:          "Choisissez ce que vous souhaitez recevoir de la part de {team}.",
		topics:          "Envois",
		save:            "Enregistrer",
		saved:           "Vos choix ont été enregistrés.",
		allLink:         "Se désabonner de tous les envois",
		allOff:          "Tous les envois de la part de {team} sont désactivés, et seul l’expéditeur {team} peut les réactiver.",
		allOffMore:      "Vos choix sur cette page s’appliqueront à partir de ce moment.",
		noTopics:        "Il n’y a rien à choisir pour le moment.",
		notFound:        "Page introuvable",
		notFoundMore:    "Ce lien n’est pas valide. Vérifiez qu’il a été copié en entier, ou utilisez le lien du dernier e-mail que vous avez reçu.",
		later:           "Veuillez réessayer plus tard",
		laterMore:       "Une erreur s’est produite de notre côté. Veuillez réessayer dans quelques minutes.",
		unclear:         "Cela n’a pas fonctionné",
		unclearMore:     "Votre demande n’a pas pu être lue et rien n’a été modifié. Veuillez revenir en arrière et réessayer.",
		often:           "Trop de modifications",
		oftenMore:       "Vous avez modifié vos choix de nombreuses fois en peu de temps. Le dernier n’est peut-être pas enregistré : veuillez réessayer dans une minute.",
		orphaned:        "Vérifiez où mène ce lien",
		orphanedMore:    "L’e-mail qui contenait ce lien, ou son expéditeur, n’existe plus ici. Personne ne peut plus dire si ce lien est sûr. Il mène à :",
		follow:          "Suivre le lien",
	}
}

func spanish() *pageText {
	return &pageText{
		lang:       "es",
		showImages: "Mostrar imágenes", sharedGone: "Este enlace ha caducado o no es válido",
		sharedGoneMore: "Pida un enlace nuevo a quien compartió el correo con usted.",
		from:           "De", to: "Para", date: "Fecha", dateForm: "02/01/2006, 15:04 UTC",
		signUp: spanishSignUp(), forwarding: spanishForwarding(),
		unsubscribe:     "Cancelar la suscripción",
		askTopic:        "¿Cancelar la suscripción a «{topic}»?",
		askTopicMore:    "Al pulsar el botón, dejará de recibir «{topic}» de {team}. Lo demás no cambia.",
		askAll:          "¿Cancelar la suscripción a todos los envíos?",
		askAllMore:      "Al pulsar el botón, dejará de recibir envíos de {team}.",
		stillReach:      "Los mensajes que pueda necesitar, como recibos o cambios de contraseña, podrán seguir llegándole.",
		done:            "Suscripción cancelada",
		doneTopic:       "Ya no recibirá «{topic}» de {team}.",
		doneAll:         "Ya no recibirá envíos de {team}.",
		preferencesLink: "Elegir lo que recibe",
		preferences:     "Sus preferencias de correo",
		choose:          "Elija lo que desea recibir de {team}.",
		topics:          "Envíos",
		save:            "Guardar",
		saved:           "Sus preferencias se han guardado.",
		allLink:         "Cancelar la suscripción a todos los envíos",
		allOff:          "Ha cancelado la suscripción a todos los envíos de {team}, y solo {team} puede volver a activarlos.",
		allOffMore:      "Lo que elija aquí se aplicará a partir de entonces.",
		noTopics:        "Por el momento no hay nada que elegir.",
		notFound:        "Página no encontrada",
		notFoundMore:    "Este enlace no es válido. Compruebe que se haya copiado completo o use el enlace del último correo que recibió.",
		later:           "Vuelva a intentarlo más tarde",
		laterMore:       "Se ha producido un error por nuestra parte. Vuelva a intentarlo dentro de unos minutos.",
		unclear:         "No ha funcionado",
		unclearMore:     "No se pudo leer su solicitud y no se ha cambiado nada. Vuelva atrás e inténtelo de nuevo.",
		often:           "Demasiados cambios",
		oftenMore:       "Ha cambiado sus preferencias muchas veces en poco tiempo. Es posible que la última no se haya guardado: inténtelo de nuevo dentro de un minuto.",
		orphaned:        "Compruebe adónde lleva este enlace",
		orphanedMore:    "El correo que contenía este enlace, o su remitente, ya no existe aquí. Nadie puede decir ya si el enlace es seguro. Lleva a:",
		follow:          "Abrir el enlace",
	}
}

func portuguese() *pageText {
	return &pageText{
		lang:       "pt",
		showImages: "Mostrar imagens", sharedGone: "Este link expirou ou não é válido",
		sharedGoneMore: "Peça um novo link a quem compartilhou o e-mail com você.",
		from:           "De", to: "Para", date: "Data", dateForm: "02/01/2006, 15:04 UTC",
		signUp: portugueseSignUp(), forwarding: portugueseForwarding(),
		unsubscribe:     "Cancelar inscrição",
		askTopic:        "Cancelar a inscrição em “{topic}”?",
		askTopicMore:    "Ao pressionar o botão, você deixará de receber “{topic}” de {team}. Nada mais muda.",
		askAll:          "Cancelar a inscrição em todos os envios?",
		askAllMore:      "Ao pressionar o botão, você deixará de receber os envios de {team}.",
		stillReach:      "Mensagens de que você possa precisar, como recibos ou redefinições de senha, ainda poderão chegar.",
		done:            "Inscrição cancelada",
		doneTopic:       "Você não receberá mais “{topic}” de {team}.",
		doneAll:         "Você não receberá mais os envios de {team}.",
		preferencesLink: "Escolher o que você recebe",
		preferences:     "Suas preferências de e-mail",
		choose:          "Escolha o que deseja receber de {team}.",
		topics:          "Envios",
		save:            "Salvar",
		saved:           "Suas escolhas foram salvas.",
		allLink:         "Cancelar a inscrição em todos os envios",
		allOff:          "Você cancelou a inscrição em todos os envios de {team}, e somente {team} pode reativá-los.",
		allOffMore:      "Suas escolhas aqui valerão a partir de então.",
		noTopics:        "No momento, não há nada para escolher.",
		notFound:        "Página não encontrada",
		notFoundMore:    "Este link não é válido. Verifique se ele foi copiado por inteiro ou use o link do e-mail mais recente que você recebeu.",
		later:           "Tente novamente mais tarde",
		laterMore:       "Ocorreu um erro do nosso lado. Tente novamente em alguns minutos.",
		unclear:         "Não funcionou",
		unclearMore:     "Não foi possível ler a sua solicitação, e nada foi alterado. Volte e tente novamente.",
		often:           "Alterações demais",
		oftenMore:       "Você alterou suas escolhas muitas vezes em pouco tempo. A última pode não ter sido salva: tente novamente em um minuto.",
		orphaned:        "Verifique aonde este link leva",
		orphanedMore:    "O e-mail que continha este link, ou o remetente dele, não existe mais aqui. Ninguém aqui pode mais dizer se o link é seguro. Ele leva a:",
		follow:          "Abrir o link",
	}
}

func italian() *pageText {
	return &pageText{
		lang:       "it",
		showImages: "Mostra immagini", sharedGone: "Questo link è scaduto o non è valido",
		sharedGoneMore: "Chieda un nuovo link a chi ha condiviso l’e-mail con Lei.",
		from:           "Da", to: "A", date: "Data", dateForm: "02/01/2006, 15:04 UTC",
		signUp: italianSignUp(), forwarding: italianForwarding(),
		unsubscribe:     "Annulla l’iscrizione",
		askTopic:        "Annullare l’iscrizione a «{topic}»?",
		askTopicMore:    "Premendo il pulsante non riceverà più «{topic}» da {team}. Il resto non cambia.",
		askAll:          "Annullare l’iscrizione a tutti gli invii?",
		askAllMore:      "Premendo il pulsante non riceverà più gli invii da {team}.",
		stillReach:      "I messaggi che possono servirle, come le ricevute o il ripristino della password, potranno ancora arrivarle.",
		done:            "Iscrizione annullata",
		doneTopic:       "Non riceverà più «{topic}» da {team}.",
		doneAll:         "Non riceverà più gli invii da {team}.",
		preferencesLink: "Scelga che cosa ricevere",
		preferences:     "Le sue preferenze e-mail",
		choose:          "Scelga che cosa desidera ricevere da {team}.",
		topics:          "Invii",
		save:            "Salva",
		saved:           "Le sue scelte sono state salvate.",
		allLink:         "Annulla l’iscrizione a tutti gli invii",
		allOff:          "Ha annullato l’iscrizione a tutti gli invii da {team} e solo {team} può riattivarli.",
		allOffMore:      "Le scelte fatte qui varranno da quel momento.",
		noTopics:        "Al momento non c’è nulla da scegliere.",
		notFound:        "Pagina non trovata",
		notFoundMore:    "Questo link non è valido. Verifichi che sia stato copiato per intero oppure usi il link dell’ultima e-mail ricevuta.",
		later:           "Riprovi più tardi",
		laterMore:       "Si è verificato un errore da parte nostra. Riprovi tra qualche minuto.",
		unclear:         "Non ha funzionato",
		unclearMore:     "Non è stato possibile leggere la richiesta e nulla è stato modificato. Torni indietro e riprovi.",
		often:           "Troppe modifiche",
		oftenMore:       "Ha cambiato le sue scelte molte volte in poco tempo. L’ultima potrebbe non essere stata salvata: riprovi tra un minuto.",
		orphaned:        "Controlli dove porta questo link",
		orphanedMore:    "L’email che conteneva questo link, o il suo mittente, non esiste più qui. Nessuno può più dire se il link è sicuro. Porta a:",
		follow:          "Apri il link",
	}
}

func dutch() *pageText {
	return &pageText{
		lang:       "nl",
		showImages: "Afbeeldingen tonen", sharedGone: "Deze link is verlopen of niet geldig",
		sharedGoneMore: "Vraag een nieuwe link aan degene die de e-mail met u heeft gedeeld.",
		from:           "Van", to: "Aan", date: "Datum", dateForm: "02-01-2006 15:04 UTC",
		signUp: dutchSignUp(), forwarding: dutchForwarding(),
		unsubscribe:     "Afmelden",
		askTopic:        "Afmelden voor ‘{topic}’?",
		askTopicMore:    "Als u op de knop drukt, ontvangt u ‘{topic}’ van {team} niet meer. Verder verandert er niets.",
		askAll:          "Afmelden voor alle mailings?",
		askAllMore:      "Als u op de knop drukt, ontvangt u geen mailings van {team} meer.",
		stillReach:      "Berichten die u nodig kunt hebben, zoals betalingsbewijzen of e-mails om een wachtwoord te herstellen, kunnen u nog wel bereiken.",
		done:            "U bent afgemeld",
		doneTopic:       "U ontvangt ‘{topic}’ van {team} niet meer.",
		doneAll:         "U ontvangt geen mailings van {team} meer.",
		preferencesLink: "Kiezen wat u ontvangt",
		preferences:     "Uw e-mailvoorkeuren",
		choose:          "Kies wat u van {team} wilt ontvangen.",
		topics:          "Onderwerpen",
		save:            "Opslaan",
		saved:           "Uw keuzes zijn opgeslagen.",
		allLink:         "Afmelden voor alle mailings",
		allOff:          "U bent afgemeld voor alle mailings van {team}, en alleen {team} kan ze weer aanzetten.",
		allOffMore:      "Vanaf dan gelden uw keuzes op deze pagina.",
		noTopics:        "Er valt op dit moment niets te kiezen.",
		notFound:        "Pagina niet gevonden",
		notFoundMore:    "Deze link is niet geldig. Controleer of de link volledig is gekopieerd, of gebruik de link uit de nieuwste e-mail die u hebt ontvangen.",
		later:           "Probeer het later opnieuw",
		laterMore:       "Er is bij ons iets misgegaan. Probeer het over een paar minuten opnieuw.",
		unclear:         "Dat is niet gelukt",
		unclearMore:     "Uw verzoek kon niet worden gelezen en er is niets gewijzigd. Ga terug en probeer het opnieuw.",
		often:           "Dat was te vaak",
		oftenMore:       "U hebt uw keuzes in korte tijd vaak gewijzigd. De laatste is misschien niet opgeslagen: probeer het over een minuut opnieuw.",
		orphaned:        "Controleer waar deze link naartoe leidt",
		orphanedMore:    "De e-mail waarin deze link stond, of de afzender ervan, is hier niet meer. Niemand kan nog zeggen of de link veilig is. Hij leidt naar:",
		follow:          "Link openen",
	}
}

func polish() *pageText {
	return &pageText{
		lang:       "pl",
		showImages: "Pokaż obrazy", sharedGone: "Ten link wygasł lub jest nieprawidłowy",
		sharedGoneMore: "Proszę poprosić o nowy link osobę, która udostępniła wiadomość.",
		from:           "Od", to: "Do", date: "Data", dateForm: "2.01.2006, 15:04 UTC",
		signUp: polishSignUp(), forwarding: polishForwarding(),
		unsubscribe:     "Wypisz mnie",
		askTopic:        "Zrezygnować z „{topic}”?",
		askTopicMore:    "Po naciśnięciu przycisku nie będą już Państwo otrzymywać „{topic}” od nadawcy {team}. Nic innego się nie zmieni.",
		askAll:          "Zrezygnować ze wszystkich wiadomości?",
		askAllMore:      "Po naciśnięciu przycisku nie będą już Państwo otrzymywać wiadomości marketingowych od nadawcy {team}.",
		stillReach:      "Potrzebne wiadomości, na przykład potwierdzenia płatności lub wiadomości o zmianie hasła, nadal mogą do Państwa docierać.",
		done:            "Rezygnacja przyjęta",
		doneTopic:       "Nie będą już Państwo otrzymywać „{topic}” od nadawcy {team}.",
		doneAll:         "Nie będą już Państwo otrzymywać wiadomości marketingowych od nadawcy {team}.",
		preferencesLink: "Wybór otrzymywanych wiadomości",
		preferences:     "Ustawienia wiadomości e-mail",
		choose:          "Proszę wybrać, co chcą Państwo otrzymywać od nadawcy {team}.",
		topics:          "Wiadomości",
		save:            "Zapisz",
		saved:           "Wybór został zapisany.",
		allLink:         "Rezygnacja ze wszystkich wiadomości",
		allOff:          "Zrezygnowali Państwo ze wszystkich wiadomości od nadawcy {team} i tylko {team} może je ponownie włączyć.",
		allOffMore:      "Wybór na tej stronie będzie obowiązywać od tej chwili.",
		noTopics:        "Obecnie nie ma nic do wyboru.",
		notFound:        "Nie znaleziono strony",
		notFoundMore:    "Ten link jest nieprawidłowy. Proszę sprawdzić, czy został skopiowany w całości, lub użyć linku z ostatniej otrzymanej wiadomości.",
		later:           "Proszę spróbować później",
		laterMore:       "Po naszej stronie wystąpił błąd. Proszę spróbować ponownie za kilka minut.",
		unclear:         "Nie udało się",
		unclearMore:     "Nie można było odczytać żądania i nic nie zostało zmienione. Proszę wrócić i spróbować ponownie.",
		often:           "Zbyt wiele zmian",
		oftenMore:       "W krótkim czasie wybór był zmieniany wiele razy. Ostatnia zmiana mogła nie zostać zapisana: prosimy spróbować ponownie za minutę.",
		orphaned:        "Sprawdź, dokąd prowadzi ten link",
		orphanedMore:    "Wiadomości, w której był ten link, lub jej nadawcy już tu nie ma. Nikt nie może już powiedzieć, czy link jest bezpieczny. Prowadzi do:",
		follow:          "Otwórz link",
	}
}

func japanese() *pageText {
	return &pageText{
		lang:       "ja",
		showImages: "画像を表示", sharedGone: "このリンクは期限切れか無効です",
		sharedGoneMore: "メールを共有した方に新しいリンクをご依頼ください。",
		from:           "差出人", to: "宛先", date: "日時", dateForm: "2006年1月2日 15:04 UTC",
		signUp: japaneseSignUp(), forwarding: japaneseForwarding(),
		unsubscribe:     "配信を停止する",
		askTopic:        "「{topic}」の配信を停止しますか？",
		askTopicMore:    "ボタンを押すと、{team}からの「{topic}」は届かなくなります。ほかの設定は変わりません。",
		askAll:          "すべての配信を停止しますか？",
		askAllMore:      "ボタンを押すと、{team}からの配信メールは届かなくなります。",
		stillReach:      "領収書やパスワードの再設定など、必要なお知らせは引き続き届くことがあります。",
		done:            "配信を停止しました",
		doneTopic:       "{team}からの「{topic}」は今後届きません。",
		doneAll:         "{team}からの配信メールは今後届きません。",
		preferencesLink: "受け取るメールを選ぶ",
		preferences:     "メール配信の設定",
		choose:          "{team}から受け取りたいメールをお選びください。",
		topics:          "配信メール",
		save:            "保存する",
		saved:           "設定を保存しました。",
		allLink:         "すべての配信を停止する",
		allOff:          "{team}からの配信はすべて停止されています。再開できるのは{team}だけです。",
		allOffMore:      "このページの設定は、配信の再開後に適用されます。",
		noTopics:        "現在、選択できるメールはありません。",
		notFound:        "ページが見つかりません",
		notFoundMore:    "このリンクは無効です。リンク全体がコピーされているかご確認いただくか、最近届いたメールのリンクをご利用ください。",
		later:           "しばらくしてからもう一度お試しください",
		laterMore:       "サーバーで問題が発生しました。数分後にもう一度お試しください。",
		unclear:         "処理できませんでした",
		unclearMore:     "リクエストを読み取れなかったため、何も変更されていません。前のページに戻ってもう一度お試しください。",
		often:           "変更の回数が多すぎます",
		oftenMore:       "短い時間に設定が何度も変更されました。最後の変更は保存されていない可能性があります。1分ほど待ってからもう一度お試しください。",
		orphaned:        "リンク先をご確認ください",
		orphanedMore:    "このリンクが記載されていたメール、またはその送信者は、すでに存在しません。リンクの安全性は確認できません。リンク先:",
		follow:          "リンクを開く",
	}
}

func chinese() *pageText {
	return &pageText{
		lang:       "zh",
		showImages: "显示图片", sharedGone: "此链接已过期或无效",
		sharedGoneMore: "请向与您共享此邮件的人索取新链接。",
		from:           "发件人", to: "收件人", date: "日期", dateForm: "2006年1月2日 15:04 UTC",
		signUp: chineseSignUp(), forwarding: chineseForwarding(),
		unsubscribe:     "退订",
		askTopic:        "要退订“{topic}”吗？",
		askTopicMore:    "点击按钮后，您将不再收到{team}发送的“{topic}”。其他设置保持不变。",
		askAll:          "要退订所有邮件吗？",
		askAllMore:      "点击按钮后，您将不再收到{team}的推广邮件。",
		stillReach:      "收据、密码重置等必要的邮件仍可能发送给您。",
		done:            "您已退订",
		doneTopic:       "您将不再收到{team}发送的“{topic}”。",
		doneAll:         "您将不再收到{team}的推广邮件。",
		preferencesLink: "选择要接收的邮件",
		preferences:     "您的邮件偏好设置",
		choose:          "请选择您希望从{team}接收的内容。",
		topics:          "邮件类别",
		save:            "保存",
		saved:           "您的选择已保存。",
		allLink:         "退订所有邮件",
		allOff:          "您已退订{team}的所有邮件，只有{team}才能重新开启。",
		allOffMore:      "您在此页面的选择将从那时起生效。",
		noTopics:        "目前没有可供选择的内容。",
		notFound:        "找不到页面",
		notFoundMore:    "此链接无效。请检查链接是否复制完整，或使用您最近收到的邮件中的链接。",
		later:           "请稍后再试",
		laterMore:       "我们这边出了点问题。请过几分钟再试。",
		unclear:         "操作未成功",
		unclearMore:     "无法读取您的请求，未做任何更改。请返回后重试。",
		often:           "操作过于频繁",
		oftenMore:       "您在短时间内多次更改了设置，最后一次更改可能尚未保存。请一分钟后再试。",
		orphaned:        "请确认此链接的去向",
		orphanedMore:    "包含此链接的邮件或其发件人已不存在，我们无法确认此链接是否安全。它指向：",
		follow:          "打开链接",
	}
}
