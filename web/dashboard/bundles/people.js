// shared:lib/core.js
import { lib_core$Fragment, lib_core$batch, lib_core$cloneElement, lib_core$computed, lib_core$createContext, lib_core$effect, lib_core$h, lib_core$html, lib_core$render, lib_core$signal, lib_core$untracked, lib_core$useCallback, lib_core$useComputed, lib_core$useContext, lib_core$useEffect, lib_core$useId, lib_core$useLayoutEffect, lib_core$useMemo, lib_core$useReducer, lib_core$useRef, lib_core$useSignal, lib_core$useSignalEffect, lib_core$useState } from "./app.js";

// shared:api.js
import { api$ApiError, api$address, api$api, api$forget, api$proof, api$request, api$silent, api$useGet, api$useList } from "./app.js";

// shared:i18n.js
import { i18n$find, i18n$language, i18n$languages, i18n$preferred, i18n$say, i18n$speak, i18n$t } from "./app.js";

// shared:gate.js
import { gate$Gate, gate$Said, gate$about, gate$arrive, gate$enter, gate$own, gate$useForm } from "./app.js";

// shared:paths.js
import { paths$domainIn, paths$encoded, paths$fileAt, paths$idOf, paths$isId, paths$isPath, paths$ownDomain } from "./app.js";

// shared:state.js
import { state$choose, state$mayAdmin, state$me, state$membership, state$signedIn, state$signedOut, state$stillSignedIn, state$team } from "./app.js";

// shared:team.js
import { team$TeamSections, team$closed, team$default, team$keysLeft } from "./shared.js";

// shared:teams.js
import { teams$TeamsSections, teams$default } from "./shared.js";

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// shared:ui/float.js
import { ui_float$DialogBody, ui_float$Dialogs, ui_float$Menu, ui_float$Toasts, ui_float$attempt, ui_float$confirm, ui_float$dialog, ui_float$toast, ui_float$useAsked } from "./app.js";

// shared:ui/list.js
import { ui_list$Bulk, ui_list$Csv, ui_list$Foot, ui_list$Table, ui_list$address } from "./app.js";

// module:people.js
function People() {
  const list = api$useList("/users", {}, { team: null });
  const columns = [
    { name: i18n$t("people.person"), class: "cell-name cell-cut", cell: (u) => lib_core$html`<bdi class="medium">${u.name || u.email}</bdi>${u.operator && lib_core$html` <span class="badge">${i18n$t("people.operator")}</span>`}<span class="cell-sub">${u.name && lib_core$html`<bdi>${u.email}</bdi> · `}${teams(u)}</span>` },
    { name: i18n$t("signIn.email"), class: "cell-cut hide-s", cell: (u) => lib_core$html`<bdi class="muted">${u.email}</bdi>` },
    { name: i18n$t("people.teams"), class: "cell-cut drop-1", cell: teams },
    { name: i18n$t("people.factor"), class: "w-status", cell: (u) => lib_core$html`<${ui_base$Status} of=${u.second_factor ? "ok" : "neutral"} word=${i18n$t(u.second_factor ? "people.on" : "people.off")} />` },
    { name: i18n$t("people.seen"), class: "w-age num hide-s", cell: (u) => u.last_seen_at ? lib_core$html`<${ui_base$Time} at=${u.last_seen_at} />` : lib_core$html`<span class="muted">${i18n$t("people.never")}</span>` },
    { name: i18n$t("ui.acts"), hide: true, class: "w-acts num", cell: (u) => lib_core$html`<${ui_float$Menu} kind="quiet" label=${`${i18n$t("ui.acts")}: ${u.name || u.email}`} items=${acts(u, list)} />` }
  ];
  return lib_core$html`<${ui_base$Head} title=${i18n$t("people.title")}><${ui_list$Csv} path="/users" name="people" team=${null} /><//><${teams$TeamsSections} at="/operator/people" />
	<${ui_list$Table} list=${list} columns=${columns} label=${i18n$t("people.label")} empty=${lib_core$html`<${ui_base$Empty} icon="user" title=${i18n$t("people.emptyTitle")}>${i18n$t("people.emptyText")}<//>`} />`;
}
var teams = (u) => u.teams.length ? lib_core$html`<bdi>${u.teams.map((one) => `${one.name} (${i18n$t(`roles.${one.role}`)})`).join(", ")}</bdi>` : lib_core$html`<span class="muted">${i18n$t("people.none")}</span>`;
function acts(u, list) {
  const mine = u.id === state$me.value.id;
  return [
    { icon: "link", name: i18n$t("people.link"), run: () => link(u) },
    { icon: "shield", name: i18n$t(u.operator ? "people.noOperator" : "people.makeOperator"), run: () => setOperator(u, !u.operator, list) },
    null,
    { icon: "trash", name: i18n$t("people.remove"), danger: true, disabled: mine, note: mine ? i18n$t("people.you") : void 0, run: () => remove(u, list) }
  ];
}
async function link(u) {
  const made = await ui_float$attempt(() => api$api.post(paths$encoded`/users/${u.id}/link`, void 0, { team: null }));
  if (!made) return;
  await ui_float$dialog((close) => lib_core$html`<${ui_float$DialogBody} title=${i18n$t("people.linkTitle", { email: u.email })} onSubmit=${() => close()} acts=${lib_core$html`<${ui_base$Button} type="submit" kind="primary">${i18n$t("team.done")}<//>`}><div class="secret"><code>${made.url}</code><${ui_base$CopyButton} text=${made.url} /></div><p>${i18n$t("people.linkText")}</p><//>`);
}
async function setOperator(u, on, list) {
  const words = { name: u.name || u.email };
  if (u.id === state$me.value.id && !await ui_float$confirm({ title: i18n$t("people.stepTitle"), text: i18n$t("people.stepText"), act: i18n$t("people.noOperator") })) return;
  const set = async (to) => {
    await api$api.patch(paths$encoded`/users/${u.id}`, { operator: to }, { team: null });
    if (u.id === state$me.value.id) await gate$arrive();
    else await list.reload();
  };
  await ui_float$attempt(() => set(on), i18n$t(on ? "people.operatorDone" : "people.operatorEnded", words), { undo: u.id === state$me.value.id ? void 0 : () => ui_float$attempt(() => set(!on)) });
}
async function remove(u, list) {
  if (!await ui_float$confirm({ title: i18n$t("people.removeTitle", { name: u.name || u.email }), text: i18n$t("people.removeText", { n: u.teams.length }), act: i18n$t("people.remove") })) return;
  const gone = await ui_float$attempt(async () => {
    const answer = await api$api.del(paths$encoded`/users/${u.id}`, void 0, { team: null });
    await list.reload();
    return answer;
  }, i18n$t("people.removed", { name: u.name || u.email }));
  if (gone) await team$keysLeft(u.name || u.email, gone.keys);
}
export {
  People as default
};
