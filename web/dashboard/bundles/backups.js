// shared:lib/core.js
import { lib_core$Fragment, lib_core$batch, lib_core$cloneElement, lib_core$computed, lib_core$createContext, lib_core$effect, lib_core$h, lib_core$html, lib_core$render, lib_core$signal, lib_core$untracked, lib_core$useCallback, lib_core$useComputed, lib_core$useContext, lib_core$useEffect, lib_core$useId, lib_core$useLayoutEffect, lib_core$useMemo, lib_core$useReducer, lib_core$useRef, lib_core$useSignal, lib_core$useSignalEffect, lib_core$useState } from "./app.js";

// shared:api.js
import { api$ApiError, api$address, api$api, api$forget, api$proof, api$request, api$silent, api$useGet, api$useList } from "./app.js";

// shared:format.js
import { format$ago, format$clock, format$day, format$duration, format$exact, format$gap, format$mailbox, format$number, format$percent, format$relative, format$seconds, format$short, format$size, format$stamp } from "./app.js";

// shared:i18n.js
import { i18n$find, i18n$language, i18n$languages, i18n$preferred, i18n$say, i18n$speak, i18n$t } from "./app.js";

// shared:health.js
import { health$HealthSections, health$default } from "./shared.js";

// shared:router.js
import { router$base, router$go, router$href, router$match, router$place, router$setQuery, router$start } from "./app.js";

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// shared:ui/float.js
import { ui_float$DialogBody, ui_float$Dialogs, ui_float$Menu, ui_float$Toasts, ui_float$attempt, ui_float$confirm, ui_float$dialog, ui_float$toast, ui_float$useAsked } from "./app.js";

// module:backups.js
function Backups() {
  const list = api$useGet("/backups", void 0, { team: null, every: 5 });
  const make = async () => {
    const made = await ui_float$attempt(() => api$api.post("/backups", void 0, { team: null }));
    if (made) ui_float$toast(made.backup ? i18n$t("backups.made", { file: made.backup.file }) : i18n$t("backups.begun"));
    await list.reload();
  };
  const dir = list.data?.dir;
  return lib_core$html`<${ui_base$Head} title=${i18n$t("backups.title")}>${dir && lib_core$html`<${ui_base$Button} kind="primary" icon="plus" disabled=${list.data.running} onClick=${make}>${i18n$t("backups.make")}<//>`}<//><${health$HealthSections} at="backups" />
	${list.data ? lib_core$html`<div class="page page--text">${dir ? lib_core$html`<${Files} of=${list.data} make=${make} />` : lib_core$html`<${Off} />`}</div>` : list.error ? lib_core$html`<${ui_base$Failed} error=${list.error} retry=${list.reload} />` : lib_core$html`<${ui_base$Bones} rows=${3} />`}`;
}
function Off() {
  return lib_core$html`<${ui_base$Section} title=${i18n$t("backups.offTitle")}><p class="ink2 t13r prose">${i18n$t("backups.offText")}</p><//>`;
}
function Files({ of, make }) {
  return lib_core$html`<${ui_base$Section} title=${i18n$t("backups.label")}><p class="ink2 t13r prose">${i18n$t("backups.folder", { dir: of.dir })}</p>${!of.daily && lib_core$html`<div class="under"><${ui_base$Notice} act=${lib_core$html`<${ui_base$Button} href=${`${router$base}/operator/settings?find=backup`}>${i18n$t("backups.daily")}<//>`}>${i18n$t("backups.notDaily")}<//></div>`}${of.running && lib_core$html`<div class="under"><${ui_base$Notice} icon="history">${i18n$t("backups.running")}<//></div>`}
	${of.data.length ? lib_core$html`<table class="table table--fixed"><thead><tr><th scope="col">${i18n$t("backups.file")}</th><th scope="col" class="num w-num hide-s">${i18n$t("backups.size")}</th><th scope="col" class="num w-status">${i18n$t("backups.at")}</th></tr></thead><tbody>${of.data.map((b) => lib_core$html`<tr key=${b.file}><td class="cell-cut"><${ui_base$Copy} text=${b.file} /></td><td class="num hide-s">${format$size(b.bytes)}</td><td class="num"><${ui_base$Time} at=${b.at} as="clock" /></td></tr>`)}</tbody></table>` : lib_core$html`<${ui_base$Empty} icon="download" title=${i18n$t("backups.emptyTitle")} act=${lib_core$html`<${ui_base$Button} onClick=${make}>${i18n$t("backups.make")}<//>`}>${i18n$t("backups.emptyText")}<//>`}<//>
	${of.data.length > 0 && lib_core$html`<${ui_base$Section} title=${i18n$t("backups.restore")}><p class="ink2 t13r prose">${i18n$t("backups.restoreText")}</p><div class="under"><${ui_base$Code} name=${i18n$t("backups.onMachine")} code=${`mailer restore ${of.dir}/${of.data[0].file}`} /></div><//>`}`;
}
export {
  Backups as default
};
