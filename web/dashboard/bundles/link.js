// shared:lib/core.js
import { lib_core$Fragment, lib_core$batch, lib_core$cloneElement, lib_core$computed, lib_core$createContext, lib_core$effect, lib_core$h, lib_core$html, lib_core$render, lib_core$signal, lib_core$untracked, lib_core$useCallback, lib_core$useComputed, lib_core$useContext, lib_core$useEffect, lib_core$useId, lib_core$useLayoutEffect, lib_core$useMemo, lib_core$useReducer, lib_core$useRef, lib_core$useSignal, lib_core$useSignalEffect, lib_core$useState } from "./app.js";

// shared:api.js
import { api$ApiError, api$address, api$api, api$forget, api$proof, api$request, api$silent, api$useGet, api$useList } from "./app.js";

// shared:i18n.js
import { i18n$find, i18n$language, i18n$languages, i18n$preferred, i18n$say, i18n$speak, i18n$t } from "./app.js";

// shared:gate.js
import { gate$Gate, gate$Said, gate$about, gate$arrive, gate$enter, gate$own, gate$useForm } from "./app.js";

// shared:router.js
import { router$base, router$go, router$href, router$match, router$place, router$setQuery, router$start } from "./app.js";

// shared:second-factor.js
import { second_factor$AskFactor, second_factor$Codes, second_factor$Digits, second_factor$NoWayIn, second_factor$Progress, second_factor$TurnOn } from "./app.js";

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// module:link.js
function Link() {
  const to = router$place.value.query.get("to") ?? "/account?part=sign-in";
  const [factors, setFactors] = lib_core$useState(
    /** @type {string[]|null} */
    null
  );
  const form = gate$useForm(async () => {
    const answer = await api$api.post("/auth/link", { code: router$place.value.hash }, { team: null });
    if (answer.second_factor?.length) setFactors(answer.second_factor);
    else await gate$enter(to);
  });
  if (factors) return lib_core$html`<${second_factor$AskFactor} factors=${factors} done=${() => gate$enter(to)} back=${() => location.assign(`${router$base}/sign-in`)} />`;
  const used = form.error?.status === 403 || !router$place.value.hash;
  return lib_core$html`<${gate$Gate} title=${i18n$t("link.title")} onSubmit=${form.submit}><div class="stack stack--2"><h1>${i18n$t(used ? "link.used" : "link.title")}</h1><p class="ink2">${used ? i18n$say("link.usedText", { command: lib_core$html`<code>mailer users link EMAIL</code>` }) : i18n$t("link.text")}</p></div>
	${used ? lib_core$html`<${ui_base$Button} kind="wide" href=${`${router$base}/sign-in`}>${i18n$t("signIn.title")}<//>` : lib_core$html`<${gate$Said} form=${form} /><${ui_base$Button} type="submit" kind="primary wide" busy=${form.busy} autofocus>${i18n$t("signIn.act")}<//>`}<//>`;
}
export {
  Link as default
};
