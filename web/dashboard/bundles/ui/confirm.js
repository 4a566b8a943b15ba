// shared:lib/core.js
import { lib_core$Fragment, lib_core$batch, lib_core$cloneElement, lib_core$computed, lib_core$createContext, lib_core$effect, lib_core$h, lib_core$html, lib_core$render, lib_core$signal, lib_core$untracked, lib_core$useCallback, lib_core$useComputed, lib_core$useContext, lib_core$useEffect, lib_core$useId, lib_core$useLayoutEffect, lib_core$useMemo, lib_core$useReducer, lib_core$useRef, lib_core$useSignal, lib_core$useSignalEffect, lib_core$useState } from "../app.js";

// shared:api.js
import { api$ApiError, api$address, api$api, api$forget, api$proof, api$request, api$silent, api$useGet, api$useList } from "../app.js";

// shared:i18n.js
import { i18n$find, i18n$language, i18n$languages, i18n$preferred, i18n$say, i18n$speak, i18n$t } from "../app.js";

// shared:passkey.js
import { passkey$can, passkey$make, passkey$use } from "../app.js";

// shared:state.js
import { state$choose, state$mayAdmin, state$me, state$membership, state$signedIn, state$signedOut, state$stillSignedIn, state$team } from "../app.js";

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "../app.js";

// shared:ui/float.js
import { ui_float$DialogBody, ui_float$Dialogs, ui_float$Menu, ui_float$Toasts, ui_float$attempt, ui_float$confirm, ui_float$dialog, ui_float$toast, ui_float$useAsked } from "../app.js";

// module:ui/confirm.js
var asked = null;
var prove = () => asked ??= ui_float$dialog((close) => lib_core$html`<${Prove} close=${close} />`).then(Boolean).finally(() => {
  asked = null;
});
function Prove({ close }) {
  const [typed, type] = lib_core$useState("");
  const [wrong, setWrong] = lib_core$useState("");
  const [busy, setBusy] = lib_core$useState(false);
  const factors = state$me.value?.second_factor ?? [];
  const byCode = factors.includes("totp");
  const byPassword = state$me.value?.password !== false;
  const byPasskey = factors.includes("passkey") && passkey$can();
  const run = async (prove2, words) => {
    if (busy) return;
    setBusy(true);
    setWrong("");
    try {
      await prove2();
      close(true);
    } catch (e) {
      if (!(e instanceof api$ApiError)) throw e;
      setWrong(e.name === "invalid_credentials" ? words : e.message);
    }
    setBusy(false);
  };
  const send = () => run(() => api$api.post("/auth/confirm", byCode && /^\s*\d{3}\s?\d{3}\s*$/.test(typed) ? { code: typed.replace(/\s/g, "") } : { password: typed }, { team: null }), i18n$t(byCode ? "confirm.wrongEither" : "confirm.wrong"));
  const types = byPassword || byCode;
  return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("confirm.title")} onSubmit=${() => types && send()} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${() => close(false)}>${i18n$t("ui.cancel")}<//>${types && lib_core$html`<${ui_base$Button} type="submit" kind="primary" busy=${busy}>${i18n$t("confirm.act")}<//>`}`}>
		<p>${i18n$t(types || byPasskey ? "confirm.text" : "confirm.nothing")}</p>
		${types && lib_core$html`<${ui_base$Input} label=${byCode ? i18n$t(byPassword ? "confirm.passwordOrCode" : "confirm.code") : i18n$t("confirm.password")} type="password" autocomplete="current-password" autofocus value=${typed} onInput=${type} error=${wrong} />`}
		${!types && wrong && lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		${byPasskey && lib_core$html`${types && lib_core$html`<p class="or">${i18n$t("signIn.or")}</p>`}<${ui_base$Button} icon="passkey" kind="wide" onClick=${() => run(passkey$use, i18n$t("factor.wrongPasskey"))}>${i18n$t("signIn.passkey")}<//>`}<//>`;
}
export {
  prove
};
