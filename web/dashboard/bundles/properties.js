import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_audience$AudienceSections,ui_audience$Search,ui_audience$Subscribed,ui_audience$form,ui_audience$nameOf,ui_audience$useCount}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";function Properties(){let list=api$useList("/contact-properties"),add=lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${()=>addProperty(list.
reload)}>${i18n$t("properties.add")}<//>`;return lib_core$html`<${ui_base$Head} title=${i18n$t("properties.title")}><${ui_list$Csv} path="/contact-properties" name="properties" />${list.
rows.length>0&&add}<//>
	<${ui_audience$AudienceSections} at="properties" />
	<${ui_list$Table} list=${list} label=${i18n$t("properties.title")} empty=${lib_core$html`<${ui_base$Empty} ghost=${[[lib_core$html`<span class="mono">city</span>`,
i18n$t("properties.string"),"Bergen"],[lib_core$html`<span class="mono">orders</span>`,i18n$t("properties.number"),"12"]]} icon="code" title=${i18n$t("propertie\
s.empty")} act=${add}>${i18n$t("properties.emptyText")}<//>`} columns=${[{name:i18n$t("properties.key"),class:"cell-name cell-cut",cell:row=>lib_core$html`<button type="button" class="link-plain mono" title=${row.
key} onClick=${()=>showProperty(row,list.reload)}>${row.key}</button><span class="cell-sub">${i18n$t(`properties.${row.type}`)}${row.fallback_value!==null&&` · ${row.
fallback_value}`}</span>`},{name:i18n$t("properties.type"),class:"w-status hide-s",cell:row=>i18n$t(`properties.${row.type}`)},{name:i18n$t("properties.fallback"),
class:"cell-cut hide-s",cell:row=>row.fallback_value===null?lib_core$html`<span class="muted">${i18n$t("ui.none")}</span>`:lib_core$html`<bdi>${String(row.fallback_value)}</bdi>`},
{name:i18n$t("properties.madeAt"),class:"w-age num muted drop-1",cell:row=>lib_core$html`<${ui_base$Time} at=${row.created_at} />`},{name:i18n$t("ui.acts"),hide:!0,
class:"w-act num",cell:row=>lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("properties.actsOf",{key:row.key})} items=${[{icon:"edit",name:i18n$t("p\
roperties.edit"),run:()=>showProperty(row,list.reload)},null,{icon:"trash",name:i18n$t("properties.delete"),danger:!0,run:()=>removeProperty(row,list.reload)}]} />`}]} />`}
var typed=(type,text)=>text===""?null:type==="number"&&Number.isFinite(Number(text))?Number(text):text,fallback=(v,set,type)=>lib_core$html`<${ui_base$Input} label=${i18n$t(
"properties.fallback")} value=${v.fallback} inputmode=${type==="number"?"decimal":void 0} onInput=${text=>set({fallback:text})} hint=${i18n$t("properties.fallba\
ckHint")} />`;async function addProperty(done){await ui_audience$form({title:i18n$t("properties.add"),act:i18n$t("properties.add"),start:{key:"",type:"string",fallback:""},
fields:(v,set)=>lib_core$html`<${ui_base$Input} label=${i18n$t("properties.key")} mono required autofocus autocomplete="off" spellcheck="false" value=${v.key} onInput=${key=>set(
{key})} hint=${i18n$t("properties.keyHint",{key:v.key||"city"})} />
			<${ui_base$Select} label=${i18n$t("properties.type")} value=${v.type} options=${["string","number"].map(type=>[type,i18n$t(`properties.${type}`)])} onChange=${type=>set(
{type})} hint=${i18n$t("properties.typeHint")} />${fallback(v,set,v.type)}`,send:v=>api$api.post("/contact-properties",{key:v.key.trim(),type:v.type,fallback_value:typed(
v.type,v.fallback)??void 0})})&&(ui_float$toast(i18n$t("properties.added")),done())}async function showProperty(row,done){await ui_audience$form({title:lib_core$html`<span class="mono">${row.
key}</span>`,act:i18n$t("ui.save"),start:{fallback:row.fallback_value===null?"":String(row.fallback_value)},fields:(v,set)=>lib_core$html`${fallback(v,set,row.type)}<${Used} of=${row} />`,
send:v=>api$api.patch(paths$encoded`/contact-properties/${row.id}`,{fallback_value:typed(row.type,v.fallback)})})&&done()}function Used({of}){let found=ui_audience$useCount(
{filter:{match:"all",conditions:[{field:`property:${of.key}`,op:"is_set"}]}});return lib_core$html`<dl class="kv"><dt>${i18n$t("properties.type")}</dt><dd>${i18n$t(
`properties.${of.type}`)}</dd><dt>${i18n$t("properties.used")}</dt><dd>${found?i18n$t("properties.usedBy",{n:found.count}):"–"}</dd><dt>${i18n$t("contact.id")}</dt><dd><${ui_base$Id} of=${of.
id} /></dd></dl>`}async function removeProperty(row,done){await ui_float$attempt(()=>api$api.del(paths$encoded`/contact-properties/${row.id}`))&&(await done(),ui_float$toast(
i18n$t("properties.deleted",{key:row.key}),{undo:async()=>{await ui_float$attempt(()=>api$api.post("/contact-properties",{key:row.key,type:row.type,fallback_value:row.
fallback_value??void 0})),await done()}}))}export{Properties as default};
