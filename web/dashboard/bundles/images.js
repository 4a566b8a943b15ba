// shared:lib/core.js
import { lib_core$Fragment, lib_core$batch, lib_core$cloneElement, lib_core$computed, lib_core$createContext, lib_core$effect, lib_core$h, lib_core$html, lib_core$render, lib_core$signal, lib_core$untracked, lib_core$useCallback, lib_core$useComputed, lib_core$useContext, lib_core$useEffect, lib_core$useId, lib_core$useLayoutEffect, lib_core$useMemo, lib_core$useReducer, lib_core$useRef, lib_core$useSignal, lib_core$useSignalEffect, lib_core$useState } from "./app.js";

// shared:api.js
import { api$ApiError, api$address, api$api, api$forget, api$proof, api$request, api$silent, api$useGet, api$useList } from "./app.js";

// shared:format.js
import { format$ago, format$clock, format$day, format$duration, format$exact, format$gap, format$mailbox, format$number, format$percent, format$relative, format$seconds, format$short, format$size, format$stamp } from "./app.js";

// shared:image-library.js
import { image_library$DropImages, image_library$InsertImage, image_library$NoImages, image_library$Picture, image_library$Weight, image_library$accepted, image_library$describe, image_library$embedded, image_library$insertFiles, image_library$lookAt, image_library$pickImage, image_library$upload } from "./shared.js";

// shared:i18n.js
import { i18n$find, i18n$language, i18n$languages, i18n$preferred, i18n$say, i18n$speak, i18n$t } from "./app.js";

// shared:paths.js
import { paths$domainIn, paths$encoded, paths$fileAt, paths$idOf, paths$isId, paths$isPath, paths$ownDomain } from "./app.js";

// shared:template-sections.js
import { template_sections$TemplateSections } from "./app.js";

// shared:ui/base.js
import { ui_base$Bones, ui_base$Button, ui_base$Check, ui_base$Code, ui_base$Copy, ui_base$CopyButton, ui_base$Empty, ui_base$Facts, ui_base$Failed, ui_base$Field, ui_base$Head, ui_base$Icon, ui_base$Id, ui_base$Input, ui_base$Notice, ui_base$Section, ui_base$Sections, ui_base$Seg, ui_base$Select, ui_base$Status, ui_base$Tabs, ui_base$Time, ui_base$Verdict, ui_base$copy, ui_base$dialogs, ui_base$useEscape } from "./app.js";

// shared:ui/audience.js
import { ui_audience$AudienceSections, ui_audience$Search, ui_audience$Subscribed, ui_audience$form, ui_audience$nameOf, ui_audience$useCount } from "./app.js";

// shared:ui/float.js
import { ui_float$DialogBody, ui_float$Dialogs, ui_float$Menu, ui_float$Toasts, ui_float$attempt, ui_float$confirm, ui_float$dialog, ui_float$toast, ui_float$useAsked } from "./app.js";

// shared:ui/list.js
import { ui_list$Bulk, ui_list$Csv, ui_list$Foot, ui_list$Table, ui_list$address } from "./app.js";

// module:images.js
function Images() {
  const list = api$useList("/images");
  const [busy, setBusy] = lib_core$useState(false);
  const take = async (files) => {
    if (busy) return;
    setBusy(true);
    for (const file of files) {
      const made = await image_library$upload(file);
      if (made && files.length === 1 && !made.alt) describe(made);
    }
    setBusy(false);
    list.reload();
  };
  const describe = async (row) => {
    const made = await ui_audience$form({
      title: i18n$t("images.describe"),
      start: { alt: row.alt ?? "" },
      act: i18n$t("images.save"),
      fields: (values, set) => lib_core$html`<${ui_base$Input} label=${i18n$t("visual.words.alt")} hint=${i18n$t("images.altHint")} value=${values.alt} onInput=${(alt) => set({ alt })} maxlength="500" autofocus />`,
      send: ({ alt }) => api$api.patch(paths$encoded`/images/${row.id}`, { alt: alt.trim() })
    });
    if (!made) return;
    ui_float$toast(i18n$t("images.described"));
    list.reload();
  };
  const remove = async (row) => {
    if (!await ui_float$confirm({ title: i18n$t("images.deleteTitle"), text: i18n$t(row.used_at ? "images.deleteUsed" : "images.deleteText"), act: i18n$t("images.delete") })) return;
    await ui_float$attempt(() => api$api.del(paths$encoded`/images/${row.id}`, void 0, row.used_at ? { query: { force: true } } : {}), i18n$t("images.deleted"));
    list.reload();
  };
  return lib_core$html`<${ui_base$Head} title=${i18n$t("templates.title")} /><${template_sections$TemplateSections} at="images" />
	<div class="page images-page"><${image_library$DropImages} take=${take} busy=${busy} many />
	${list.error && !list.rows.length ? lib_core$html`<${ui_base$Failed} error=${list.error} retry=${list.reload} />` : list.loading ? lib_core$html`<${ui_base$Bones} />` : !list.rows.length ? lib_core$html`<${image_library$NoImages} />` : lib_core$html`<ul class="gallery gallery--images">${list.rows.map((row) => lib_core$html`<li key=${row.id}><${image_library$Picture} of=${row} /><div class="gallery-text"><span class=${row.alt ? "cut medium" : "cut warn"} title=${row.alt}>${row.alt ? lib_core$html`<bdi>${row.alt}</bdi>` : i18n$t("images.noAlt")}</span><${ui_float$Menu} kind="quiet" label=${i18n$t("images.actsOf", { name: row.alt || row.id.slice(0, 8) })} items=${[
    { icon: "edit", name: i18n$t("images.describe"), run: () => describe(row) },
    { icon: "trash", name: i18n$t("images.delete"), danger: true, run: () => remove(row) }
  ]} /></div><div class="gallery-note"><span class="muted">${row.width} × ${row.height}, ${format$size(row.bytes)}</span><span class="muted">${row.used_at ? lib_core$html`${i18n$t("images.used")} <${ui_base$Time} at=${row.used_at} as="ago" />` : i18n$t("images.unused")}</span></div>${row.url && lib_core$html`<div class="gallery-note"><${ui_base$Copy} text=${row.url} /></div>`}</li>`)}</ul><${ui_list$Foot} list=${list} />`}</div>`;
}
export {
  Images as default
};
