import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_audience$AudienceSections,ui_audience$Search,ui_audience$Subscribed,ui_audience$form,ui_audience$nameOf,ui_audience$useCount}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{ui_chart$Bars,ui_chart$Legend,ui_chart$Meter,ui_chart$Scale,ui_chart$Spark,ui_chart$few,ui_chart$scaleOf}from"./app.js";import{csv_head$consentOf,csv_head$countRows,csv_head$headOf,csv_head$keyOf,csv_head$rowsOf,csv_head$services,csv_head$textOf}from"./shared.js";var batch=1e3;function addressesIn(text){let found=new Map;for(let[address]of text.matchAll(/[^\s,;:<>"'()[\]]+@[^\s,;:<>"'()[\]@]+\.[^\s,;:<>"'()[\]@]+/g))found.
set(address.toLowerCase(),address);return[...found.values()]}function ImportSuppressions({close}){let[text,setText]=lib_core$useState(""),[origin,setOrigin]=lib_core$useState(
"manual"),[done,setDone]=lib_core$useState(-1),[wrong,say]=lib_core$useState(""),all=lib_core$useMemo(()=>addressesIn(text),[text]),read=async file=>file&&setText(
await csv_head$textOf(file)),send=async()=>{if(!all.length||done>=0)return;say("");let at=0;try{for(;at<all.length;at+=batch)setDone(at),await api$api.post("/su\
ppressions/batch/add",{emails:all.slice(at,at+batch),origin});ui_float$toast(i18n$t("suppressions.imported",{n:all.length})),close(!0)}catch(e){if(!(e instanceof
api$ApiError))throw e;say(at?i18n$t("suppressions.importPart",{n:at,said:e.message}):e.message),setDone(-1)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"suppressions.importTitle")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close(!1)}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!all.
length||done>=0}>${i18n$t("suppressions.importAct",{n:all.length})}<//>`}>
		<p>${i18n$t("suppressions.importText")}</p>
		${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<div onDragOver=${e=>e.preventDefault()} onDrop=${e=>{e.preventDefault(),read(e.dataTransfer.files[0])}}><${ui_base$Input} label=${i18n$t("suppressions.list")} hint=${text&&
i18n$t("suppressions.read",{n:all.length})} lines="6" mono value=${text} onInput=${setText} placeholder="ann@example.com" autofocus /></div>
		<${ui_base$Input} label=${i18n$t("suppressions.file")} type="file" accept=".csv,.txt,text/*" value="" onInput=${()=>{}} onChange=${e=>read(e.currentTarget.files[0])} />
		<${ui_base$Select} label=${i18n$t("suppressions.origin")} value=${origin} onChange=${setOrigin} options=${["manual","bounce","complaint","unsubscribe"].map(o=>[
o,i18n$t(`suppressions.origins.${o}`)])} />
		${done>=0&&lib_core$html`<${ui_chart$Meter} part=${done/all.length} label=${i18n$t("suppressions.progress",{done,n:all.length})} />`}<//>`}var origins=["bounce","complaint","manual","unsubscribe"];function AddSuppression({close}){let[email,setEmail]=lib_core$useState(""),[wrong,say]=lib_core$useState(
""),send=async()=>{try{close(await api$api.post("/suppressions",{email:email.trim()}))}catch(e){if(!(e instanceof api$ApiError))throw e;say(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"suppressions.addTitle")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t(
"suppressions.add")}<//>`}>
		<p>${i18n$t("suppressions.addText")}</p>
		<${ui_base$Input} label=${i18n$t("suppressions.address")} type="email" value=${email} onInput=${setEmail} error=${wrong} autocomplete="off" required autofocus /><//>`}
var warning=rows=>i18n$t(rows.some(r=>r.origin==="complaint")?"suppressions.liftComplaint":rows.some(r=>r.origin==="unsubscribe")?"suppressions.liftUnsubscribe":
rows.some(r=>r.origin==="bounce")?"suppressions.liftBounce":"suppressions.liftManual");function Suppressions(){let origin=router$place.value.query.get("origin")??
"",email=router$place.value.query.get("email")??"",query={origin,email},list=api$useList("/suppressions",query),[selected,select]=lib_core$useState(new Set),[typed,
type]=lib_core$useState(email),add=async()=>{let made=await ui_float$dialog(close=>lib_core$html`<${AddSuppression} close=${close} />`);made&&(ui_float$toast(i18n$t(
"suppressions.added",{email:made.email}),{undo:()=>ui_float$attempt(async()=>{await api$api.del(paths$encoded`/suppressions/${made.id}`),await list.reload()})}),
await list.reload())},bring=async()=>{await ui_float$dialog(close=>lib_core$html`<${ImportSuppressions} close=${close} />`)&&await list.reload()},lift=rows2=>ui_float$attempt(
async()=>{let n=rows2.length;await ui_float$confirm({title:i18n$t("suppressions.liftTitle",{n,email:rows2[0].email}),text:warning(rows2),act:i18n$t("suppression\
s.liftAct",{n}),n})&&(await api$api.post("/suppressions/batch/remove",{ids:rows2.map(r=>r.id)}),select(new Set),ui_float$toast(i18n$t("suppressions.lifted",{n})),
await list.reload())}),find=()=>router$setQuery({email:typed.trim()}),rows=list.rows.filter(r=>selected.has(r.id)),acts=lib_core$html`<${ui_base$Button} onClick=${bring}>${i18n$t(
"suppressions.import")}<//><${ui_base$Button} kind="primary" icon="plus" onClick=${add}>${i18n$t("suppressions.add")}<//>`;return lib_core$html`<${ui_base$Head} title=${i18n$t(
"suppressions.title")} note=${list.page?.total!==void 0&&lib_core$html`<span class="muted t13r nowrap">${i18n$t("suppressions.total",{n:list.page.total})}</span>`}><${ui_list$Csv} path="/suppressions" query=${query} name="suppressions" />${acts}<//>
	<${ui_audience$AudienceSections} at="suppressions" />
	<div class="tools tools--under"><form class="row" onSubmit=${e=>{e.preventDefault(),find()}}><input class="input requests-path" type="email" aria-label=${i18n$t(
"suppressions.find")} placeholder=${i18n$t("suppressions.find")} value=${typed} onInput=${e=>type(e.currentTarget.value)} /><${ui_base$Button} type="submit" icon="search" label=${i18n$t(
"suppressions.findAct")} /></form>
		<${ui_base$Select} bare label=${i18n$t("suppressions.origin")} value=${origin} onChange=${value=>router$setQuery({origin:value})} options=${[["",i18n$t("suppr\
essions.any")],...origins.map(o=>[o,i18n$t(`suppressions.origins.${o}`)])]} /></div>
	<${ui_list$Table} list=${list} label=${i18n$t("suppressions.title")} selected=${selected} onSelect=${select} empty=${lib_core$html`<${ui_base$Empty} ghost=${origin||
email?void 0:[["ann@example.com",i18n$t("suppressions.origins.bounce"),i18n$t("time.h",{n:2})],["ben@example.com",i18n$t("suppressions.origins.unsubscribe"),i18n$t(
"time.d",{n:3})]]} icon="st-suppressed" title=${email?i18n$t("suppressions.isNot",{email}):i18n$t(origin?"suppressions.noneSuch":"suppressions.none")} act=${origin||
email?lib_core$html`<${ui_base$Button} onClick=${()=>{type(""),router$setQuery({origin:null,email:null})}}>${i18n$t("suppressions.showAll")}<//>`:lib_core$html`<${ui_base$Button} onClick=${bring}>${i18n$t(
"suppressions.import")}<//>`}>${i18n$t("suppressions.noneText")}<//>`} columns=${[{name:i18n$t("suppressions.address"),class:"cell-name cell-cut",cell:row=>lib_core$html`<${ui_base$Copy} text=${row.
email} mono=${!1} show=${lib_core$html`<bdi>${row.email}</bdi>`} /><span class="cell-sub">${i18n$t(`suppressions.origins.${row.origin}`)}</span>`},{name:i18n$t(
"suppressions.origin"),class:"w-rectype hide-s",cell:row=>i18n$t(`suppressions.origins.${row.origin}`)},{name:i18n$t("suppressions.cause"),class:"w-team cell-cu\
t drop-2",cell:row=>row.source_id?lib_core$html`<a class="link" href=${router$base+paths$encoded`/emails/${row.source_id}`}>${i18n$t("suppressions.mail")}</a>`:
lib_core$html`<span class="muted">–</span>`},{name:i18n$t("suppressions.since"),class:"w-age num muted",cell:row=>lib_core$html`<${ui_base$Time} at=${row.created_at} />`},
{name:i18n$t("ui.acts"),hide:!0,class:"w-state num hide-s",cell:row=>lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>lift([row])}>${i18n$t("suppress\
ions.lift")}<//>`}]} />
	${rows.length>0&&lib_core$html`<${ui_list$Bulk} n=${rows.length} clear=${()=>select(new Set)}><${ui_base$Button} kind="danger" onClick=${()=>lift(rows)}>${i18n$t(
"suppressions.liftAct",{n:rows.length})}<//><//>`}`}export{Suppressions as default};
