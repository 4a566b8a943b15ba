import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{gate$Gate,gate$Said,gate$about,gate$arrive,gate$enter,gate$own,gate$useForm}from"./app.js";import{health$HealthSections,health$default}from"./shared.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";function Settings(){let list=api$useGet("/settings",void 0,{team:null}),[word,setWord]=lib_core$useState(router$place.value.query.get("find")??""),all=router$place.
value.query.get("all")==="1",fits=s=>`${s.name} ${s.changeable?title(s):""} ${s.variable} ${s.about} ${s.value}`.toLowerCase().includes(word.trim().toLowerCase()),
found=(list.data?.data??[]).filter(fits),now=found.filter(s=>s.changeable),start=found.filter(s=>!s.changeable&&(all||word||s.from!=="default")),change=async s=>{
let values=await ui_float$dialog(close=>lib_core$html`<${Change} of=${s} close=${close} />`);values&&list.set(values)};return lib_core$html`<${ui_base$Head} title=${i18n$t(
"settings.title")} /><${health$HealthSections} at="settings" />
	<div class="tools tools--wrap tools--top"><label class="query-box settings-find"><${ui_base$Icon} name="search" /><span class="vh">${i18n$t("settings.find")}</span><input class="query-input" type="search" placeholder=${i18n$t(
"settings.find")} value=${word} onInput=${e=>{setWord(e.currentTarget.value),router$setQuery({find:e.currentTarget.value})}} /></label></div>
	${list.data?lib_core$html`<div class="page">${now.length>0&&lib_core$html`<${ui_base$Section} title=${i18n$t("settings.now")}><p class="ink2 t13r prose">${i18n$t(
"settings.nowText")}</p><${Changeable} rows=${now} change=${change} /><//>`}
		<${ui_base$Section} title=${i18n$t("settings.start")} acts=${lib_core$html`<${ui_base$Check} label=${i18n$t("settings.only")} checked=${!all&&!word} disabled=${!!word} onChange=${on=>router$setQuery(
{all:on?null:"1"})} />`}>${start.length?lib_core$html`<${Rows} rows=${start} />`:lib_core$html`<${ui_base$Empty} icon="settings" title=${i18n$t(word?"settings.e\
mptyTitle":"settings.noneTitle")}>${i18n$t(word?"settings.emptyText":"settings.noneText")}<//>`}<//></div>`:list.error?lib_core$html`<${ui_base$Failed} error=${list.
error} retry=${list.reload} />`:lib_core$html`<${ui_base$Bones} />`}`}var title=s=>i18n$t(`settings.names.${s.name}`),value=s=>s.value==="0"&&s.name.startsWith(
"keep-")?i18n$t("relays.noLimit"):s.value===""?lib_core$html`<span class="muted">–</span>`:s.value,source=s=>s.from!=="default"&&lib_core$html`<div class="muted t12">${i18n$t(
`settings.sources.${s.from}`,{flag:`--${s.name}`,variable:s.variable})}</div>`,Changeable=({rows,change})=>lib_core$html`<table class="table table--rows table--fixed table--top" aria-label=${i18n$t(
"settings.now")}><thead><tr><th scope="col" class="cell-name w-rec">${i18n$t("settings.name")}</th><th scope="col" class="w-team hide-s">${i18n$t("settings.valu\
e")}</th><th scope="col" class="hide-s drop-2">${i18n$t("settings.about")}</th><th scope="col" class="num w-num"><span class="vh">${i18n$t("ui.acts")}</span></th></tr></thead>
	<tbody>${rows.map(s=>lib_core$html`<tr key=${s.name}><td><span class="medium">${title(s)}</span><span class="cell-sub break mono t12">${value(s)}</span>${source(
s)}</td><td class="hide-s break mono t12">${value(s)}</td><td class="hide-s drop-2 ink2">${s.about}</td><td class="num"><${ui_base$Button} label=${i18n$t("setti\
ngs.changeOf",{name:title(s)})} onClick=${()=>change(s)}>${i18n$t("settings.change")}<//></td></tr>`)}</tbody></table>`,Rows=({rows})=>lib_core$html`<table class="table table--rows table--fixed table--top" aria-label=${i18n$t(
"settings.start")}><thead><tr><th scope="col" class="cell-name w-rec">${i18n$t("settings.name")}</th><th scope="col" class="w-team">${i18n$t("settings.value")}</th><th scope="col" class="hide-s">${i18n$t(
"settings.about")}</th></tr></thead>
	<tbody>${rows.map(s=>lib_core$html`<tr key=${s.name}><td><${ui_base$Copy} text=${`--${s.name}`} />${source(s)}</td><td class="break mono t12">${value(s)}</td><td class="hide-s ink2">${s.
about}</td></tr>`)}</tbody></table><p class="table-foot">${i18n$t("settings.text")}</p>`,hidden=["alert-webhook","alert-webhook-secret"];function Change({of:s,close}){
let[typed,type]=lib_core$useState(hidden.includes(s.name)?"":s.value),put=next=>api$api.patch("/settings",{values:{[s.name]:next}},{team:null}),form=gate$useForm(
async()=>close(await put(typed.trim()||null))),reset=async()=>{let values=await ui_float$attempt(()=>put(null));values&&close(values)},field=s.choices.length?lib_core$html`<${ui_base$Select} label=${title(
s)} value=${typed} options=${s.choices.map(c=>[c,c])} onChange=${type} hint=${s.about} error=${gate$about(form.error,s.name)} />`:lib_core$html`<${ui_base$Input} label=${title(
s)} value=${typed} onInput=${type} placeholder=${hidden.includes(s.name)?s.value:""} hint=${s.about} autocomplete="off" error=${gate$about(form.error,s.name)} />`;
return lib_core$html`<${ui_float$DialogBody} title=${title(s)} onSubmit=${()=>form.submit()} acts=${lib_core$html`${s.from==="database"&&lib_core$html`<${ui_base$Button} kind="quiet" onClick=${reset}>${i18n$t(
"settings.reset")}<//><span class="push"></span>`}<${ui_base$Button} onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" busy=${form.
busy}>${i18n$t("settings.save")}<//>`}>
		<${gate$Said} form=${form} fields=${[s.name]} />${field}<//>`}export{Settings as default};
