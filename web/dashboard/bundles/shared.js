import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{template_sections$TemplateSections}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_audience$AudienceSections,ui_audience$Search,ui_audience$Subscribed,ui_audience$form,ui_audience$nameOf,ui_audience$useCount}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{liquid$alone,liquid$blockTag,liquid$canQuote,liquid$comparisons,liquid$conditionTags,liquid$contactIn,liquid$isName,liquid$isWhole,liquid$kept,liquid$loopTags,
liquid$nameOf,liquid$readAsLiquid,liquid$spelled,liquid$undeclaredIn}from"./app.js";var pageOf=row=>router$base+paths$encoded`/blocks/${row.id}`;async function removeBlock(row){return await ui_float$confirm({title:i18n$t("blocks.deleteTitle",{name:row.
name}),text:i18n$t("blocks.deleteText"),act:i18n$t("blocks.delete")})?await ui_float$attempt(()=>api$api.del(paths$encoded`/blocks/${row.id}`),i18n$t("blocks.de\
leted",{name:row.name}))!==void 0:!1}var saveBlock=content=>ui_audience$form({title:i18n$t("blocks.new"),start:{name:""},act:i18n$t("blocks.create"),fields:(values2,set)=>lib_core$html`<${ui_base$Input} label=${i18n$t(
"blocks.name")} hint=${i18n$t("blocks.nameHint")} value=${values2.name} onInput=${name=>set({name})} maxlength="100" autofocus />`,send:({name})=>api$api.post("\
/blocks",{name:name.trim(),html:content})});function Blocks(){let list=api$useList("/blocks"),make=async()=>{let made=await saveBlock(`<p></p>
`);made&&router$go(paths$encoded`/blocks/${made.id}`)},remove2=async row=>{await removeBlock(row)&&list.reload()},add=lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${make}>${i18n$t(
"blocks.new")}<//>`;return lib_core$html`<${ui_base$Head} title=${i18n$t("templates.title")}>${add}<//><${template_sections$TemplateSections} at="blocks" />
	<${ui_list$Table} list=${list} label=${i18n$t("blocks.title")} open=${pageOf} empty=${lib_core$html`<${ui_base$Empty} icon="template" title=${i18n$t("blocks.no\
ne")} act=${add}>${i18n$t("blocks.noneText")}<//>`} columns=${[{name:i18n$t("blocks.name"),class:"cell-name cell-cut",cell:row=>lib_core$html`<a href=${pageOf(row)} title=${row.
name}><bdi>${row.name}</bdi></a>`},{name:i18n$t("blocks.tag"),class:"cell-cut hide-s",cell:row=>lib_core$html`<${ui_base$Copy} text=${liquid$blockTag(row.name)} />`},
{name:i18n$t("blocks.changed"),class:"w-when hide-s",cell:row=>lib_core$html`<${ui_base$Time} at=${row.updated_at} />`},{name:i18n$t("ui.acts"),hide:!0,class:"c\
ell-acts w-acts",cell:row=>lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("blocks.actsOf",{name:row.name})} items=${[{icon:"edit",name:i18n$t("bloc\
ks.edit"),href:pageOf(row)},{icon:"trash",name:i18n$t("blocks.delete"),danger:!0,run:()=>remove2(row)}]} />`}]} />`}import{brand_colors$between,brand_colors$colorsOf,brand_colors$contrast,brand_colors$enough,brand_colors$isColor,brand_colors$kitOf,brand_colors$stacks}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{gate$Gate,gate$Said,gate$about,gate$arrive,gate$enter,gate$own,gate$useForm}from"./app.js";var tongues=["en","de","fr","es","it","pt","nl","pl","ja","zh"];function HostedPages({stamp}){let team=api$useGet("/team"),[change,setChange]=lib_core$useState(
{});if(team.error&&!team.data)return lib_core$html`<${ui_base$Failed} error=${team.error} retry=${team.reload} />`;if(!team.data)return lib_core$html`<${ui_base$Bones} rows=${3} />`;
let now={name:team.data.name,...change},dirty=now.name!==team.data.name,save=()=>ui_float$attempt(async()=>{team.set(await api$api.patch("/team",{name:now.name.
trim()})),setChange({})},i18n$t("hosted.saved"));return lib_core$html`<div class="page"><${ui_base$Section} title=${i18n$t("hosted.title")}>
		<p class="muted t13r prose">${i18n$t("hosted.text")}</p>
		<div class="cols hosted"><form class="stack" onSubmit=${e=>{e.preventDefault(),dirty&&save()}}>
			<${ui_base$Input} label=${i18n$t("hosted.name")} value=${now.name} maxlength="100" required onInput=${name=>setChange({...change,name})} hint=${i18n$t("hoste\
d.nameHint")} />
			<${ui_base$Button} type="submit" disabled=${!dirty}>${i18n$t("ui.save")}<//></form>
		<${Shown} stamp=${JSON.stringify([team.data,stamp])} /></div><//>
		<${Look} key=${JSON.stringify(team.data.page)} of=${team.data.page??{}} set=${team.set} /></div>`}var ownTexts=[["unsubscribe","unsubscribe"],["unsubscribed",
"unsubscribed"],["preferences","own"]];function Look({of,set}){let[page,setPage]=lib_core$useState(of),[tongue,setTongue]=lib_core$useState(tongues.includes(i18n$language.
value)?i18n$language.value:"en"),change=some=>setPage(before=>({...before,...some})),text=page.texts?.find(one=>one.language===tongue)??{language:tongue},changeText=some=>change(
{texts:[...(page.texts??[]).filter(one=>one.language!==tongue),{...text,...some}]}),form=gate$useForm(async()=>{let texts=(page.texts??[]).filter(one=>ownTexts.
some(([name])=>one[name]?.trim())||one.link?.trim()),kept=Object.fromEntries(Object.entries({...page,texts}).filter(([,value])=>value?.length));set(await api$api.
patch("/team",{page:Object.keys(kept).length?kept:null})),ui_float$toast(i18n$t("hosted.saved"))}),at=page.texts?.indexOf(text)??-1,wrong=name=>at<0?void 0:gate$about(
form.error,`page.texts[${at}].${name}`),colors=[["background_color","background","#f3f4f7"],["card_color","card","#ffffff"],["text_color","textColor","#1b1f27"]],
ratio=brand_colors$between(page.text_color,page.card_color),names=new Intl.DisplayNames([i18n$language.value],{type:"language"});return lib_core$html`<${ui_base$Section} title=${i18n$t(
"hosted.page")}><form class="fields" onSubmit=${e=>{e.preventDefault(),form.submit()}}><${gate$Said} form=${form} fields=${[...colors.map(([name])=>`page.${name}`),
"page.after_unsubscribe_url",...ownTexts.map(([name])=>`page.texts[${at}].${name}`),`page.texts[${at}].link`]} />
		<div class="row row--wrap row--top">${colors.map(([name,label,usual])=>lib_core$html`<${ui_base$Field} key=${name} label=${i18n$t(`hosted.${label}`)} error=${gate$about(
form.error,`page.${name}`)} hint=${name==="text_color"&&ratio<brand_colors$enough?lib_core$html`<${ui_base$Icon} name="alert" class="warn" /> ${i18n$t("hosted.c\
ontrastLow",{ratio:(Math.floor(ratio*10)/10).toFixed(1)})}`:void 0}>${attributes=>lib_core$html`<span class="row brand-color"><input type="color" value=${page[name]||
usual} onInput=${e=>change({[name]:e.currentTarget.value})} ...${attributes} />${page[name]&&lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>change(
{[name]:""})}>${i18n$t("brand.reset")}<//>`}</span>`}<//>`)}</div>
		<${ui_base$Select} label=${i18n$t("hosted.language")} value=${tongue} options=${tongues.map(one=>[one,names.of(one)??one])} onChange=${setTongue} />
		${ownTexts.map(([name,label])=>lib_core$html`<${ui_base$Input} key=${tongue+name} label=${i18n$t(`hosted.${label}`)} lines="2" maxlength="500" value=${text[name]??
""} onInput=${value=>changeText({[name]:value})} hint=${i18n$t("hosted.more")} error=${wrong(name)} />`)}
		<${ui_base$Input} label=${i18n$t("hosted.url")} mono type="url" inputmode="url" maxlength="2048" placeholder="https://www.example.com/" value=${page.after_unsubscribe_url??
""} onInput=${value=>change({after_unsubscribe_url:value.trim()})} hint=${i18n$t("hosted.urlHint")} error=${gate$about(form.error,"page.after_unsubscribe_url")} />
		${page.after_unsubscribe_url&&lib_core$html`<${ui_base$Input} key=${`${tongue}link`} label=${i18n$t("hosted.link")} maxlength="60" value=${text.link??""} onInput=${link=>changeText(
{link})} error=${wrong("link")} />`}
		<${ui_base$Button} type="submit" disabled=${JSON.stringify(page)===JSON.stringify(of)} busy=${form.busy}>${i18n$t("ui.save")}<//></form><//>`}function Shown({
stamp}){let newest=api$useGet("/contacts",{limit:1}),contact=newest.data?.data[0],[url,setUrl]=lib_core$useState(""),[tongue,setTongue]=lib_core$useState(tongues.
includes(i18n$language.value)?i18n$language.value:"en");if(lib_core$useEffect(()=>{contact&&ui_float$attempt(()=>api$api.read(paths$encoded`/contacts/${contact.
id}/preferences-link`)).then(made=>made&&setUrl(made.url))},[contact?.id,stamp]),!newest.data)return null;if(!contact)return lib_core$html`<p class="muted t13r">${i18n$t(
"hosted.nobody")}</p>`;let shown3=url&&`${new URL(url).pathname}?language=${tongue}`,names=new Intl.DisplayNames([i18n$language.value],{type:"language"});return lib_core$html`<section class="sheet" aria-label=${i18n$t(
"hosted.preview")}><div class="sheet-head"><span class="muted t12 cut grow">${i18n$t("hosted.as",{email:contact.email})}</span><${ui_base$Select} bare label=${i18n$t(
"hosted.language")} value=${tongue} options=${tongues.map(one=>[one,names.of(one)??one])} onChange=${setTongue} /><${ui_base$Button} icon="external" kind="quiet" label=${i18n$t(
"contact.open")} href=${url} target="_blank" rel="noreferrer" /></div>
		<div class="sheet-body">${shown3&&lib_core$html`<div class="paper"><iframe sandbox="" src=${shown3} title=${i18n$t("hosted.preview")}></iframe></div>`}</div></section>`}var most=512*1024;function Brand(){let brand=api$useGet("/team/brand");return brand.error&&!brand.data?lib_core$html`<${ui_base$Failed} error=${brand.error} retry=${brand.
reload} />`:brand.data?lib_core$html`<${Parts} of=${brand.data} set=${brand.set} />`:lib_core$html`<${ui_base$Bones} rows=${3} />`}function Parts({of,set}){let[
color,setColor]=lib_core$useState(of.color??""),[font,setFont]=lib_core$useState(of.font),[footer,setFooter]=lib_core$useState(of.footer??""),form=gate$useForm(
async()=>{let now=await api$api.patch("/team/brand",{color:color||null,font,footer:footer.trim()||null});set(now),setFooter(now.footer??""),ui_float$toast(i18n$t(
"team.saved"))}),same=color===(of.color??"")&&font===of.font&&footer.trim()===(of.footer??""),wrong=color&&!brand_colors$isColor(color)?i18n$t("brand.colorWrong"):
gate$about(form.error,"color");return lib_core$html`<${ui_base$Section} title=${i18n$t("brand.title")}><p class="ink2 t13r prose">${i18n$t("brand.text")}</p>
	<div class="cols brand"><form class="fields" onSubmit=${e=>{e.preventDefault(),form.submit()}}><${Logo} of=${of} set=${set} /><${gate$Said} form=${form} fields=${[
"color","font","footer"]} />
		<${Color} value=${color} onInput=${setColor} error=${wrong} />
		<${ui_base$Select} label=${i18n$t("brand.font")} value=${font} onChange=${setFont} options=${Object.keys(brand_colors$stacks).map(name=>[name,i18n$t(`brand.fo\
nts.${name}`)])} error=${gate$about(form.error,"font")} />
		<${ui_base$Input} label=${i18n$t("brand.footer")} lines="4" maxlength="500" value=${footer} onInput=${setFooter} hint=${i18n$t("brand.footerHint")} error=${gate$about(
form.error,"footer")} />
		<${ui_base$Button} type="submit" kind="primary" disabled=${same||!!(color&&!brand_colors$isColor(color))} busy=${form.busy}>${i18n$t("team.save")}<//></form>
	<div class="stack"><${Sample} of=${of} color=${brand_colors$isColor(color)?color:null} font=${font} footer=${footer} /><${Shown} key=${JSON.stringify(of)} stamp=${of} /></div></div><//>`}
var base64=file=>new Promise((done,fail)=>{let reader=new FileReader;reader.onload=()=>done(String(reader.result).replace(/^[^,]*,/,"")),reader.onerror=()=>fail(
reader.error),reader.readAsDataURL(file)}),shownAt=of=>of.logo_width?new URL(of.logo_url).pathname:null;function Logo({of,set}){let input=lib_core$useRef(null),
[over,setOver]=lib_core$useState(!1),[busy,setBusy]=lib_core$useState(!1),[wrong,say]=lib_core$useState(""),take=async file=>{if(!(!file||busy)&&(say(file.size>
most?i18n$t("brand.tooLarge",{size:format$size(file.size)}):""),!(file.size>most))){setBusy(!0);try{set(await api$api.post("/team/logo",{content:await base64(file)})),
await gate$arrive(),ui_float$toast(i18n$t("brand.logoSaved"))}catch(e){if(!(e instanceof api$ApiError))throw e;say(gate$about(e,"content")??e.message)}setBusy(!1)}},
remove2=async()=>{await ui_float$confirm({title:i18n$t("brand.removeTitle"),text:i18n$t("brand.removeText"),act:i18n$t("brand.remove")})&&await ui_float$attempt(
async()=>set(await api$api.del("/team/logo")),i18n$t("brand.logoRemoved"))},at=shownAt(of);return lib_core$html`<${ui_base$Field} label=${i18n$t("brand.logo")} hint=${i18n$t(
"brand.limits")} error=${wrong}>${attributes=>lib_core$html`<div class=${`brand-drop ${over?"is-over":""}`} onDragOver=${e=>{e.preventDefault(),setOver(!0)}} onDragLeave=${()=>setOver(
!1)} onDrop=${e=>{e.preventDefault(),setOver(!1),take(e.dataTransfer.files[0])}}>${at?lib_core$html`<img class="brand-logo" src=${at} alt=${i18n$t("brand.logo")} />`:
lib_core$html`<span class="muted t13r">${of.logo_url?i18n$t("brand.elsewhere",{host:new URL(of.logo_url).host}):i18n$t("brand.drop")}</span>`}
	<span class="row row--wrap"><${ui_base$Button} icon="attach" busy=${busy} onClick=${()=>input.current.click()}>${i18n$t(of.logo_url?"brand.replace":"brand.choo\
se")}<//>${of.logo_url&&lib_core$html`<${ui_base$Button} kind="quiet" icon="trash" onClick=${remove2}>${i18n$t("brand.remove")}<//>`}</span>
	<input class="vh" type="file" tabindex="-1" ref=${input} accept="image/png,image/jpeg,image/webp" ...${attributes} onChange=${e=>{take(e.currentTarget.files[0]),
e.currentTarget.value=""}} /></div>`}<//>`}function Color({value,onInput,error}){let known=brand_colors$isColor(value),ratio=known?brand_colors$contrast(value):
0,said=known?i18n$t(ratio>=brand_colors$enough?"brand.contrastGood":"brand.contrastLow",{ratio:(Math.floor(ratio*10)/10).toFixed(1)}):i18n$t("brand.colorHint");
return lib_core$html`<${ui_base$Field} label=${i18n$t("brand.color")} error=${error} hint=${lib_core$html`${known&&ratio<brand_colors$enough&&lib_core$html`<${ui_base$Icon} name="alert" class="warn" /> `}${said}`}>${attributes=>lib_core$html`<span class="row brand-color"><input type="color" aria-label=${i18n$t(
"brand.pick")} value=${known?value:brand_colors$colorsOf(null).button} onInput=${e=>onInput(e.currentTarget.value)} />
		<input class="input mono" maxlength="7" placeholder=${brand_colors$colorsOf(null).button} value=${value} spellcheck="false" autocomplete="off" onInput=${e=>onInput(
e.currentTarget.value.trim().toLowerCase())} ...${attributes} />${value&&lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>onInput("")}>${i18n$t("bran\
d.reset")}<//>`}</span>`}<//>`}function Sample({of,color,font,footer}){let box=lib_core$useRef(null),colors=brand_colors$colorsOf(color);lib_core$useEffect(()=>{
for(let[name,value]of Object.entries({"--brand":colors.button,"--brand-on":colors.on,"--brand-link":colors.link,"font-family":brand_colors$stacks[font]}))box.current.
style.setProperty(name,value)},[color,font]);let at=shownAt(of);return lib_core$html`<section class="sheet" aria-label=${i18n$t("brand.preview")}><div class="sheet-head"><span class="muted t12">${i18n$t(
"brand.preview")}</span></div><div class="brand-mail" ref=${box}>
		${at?lib_core$html`<img class="brand-logo" src=${at} alt=${of.name} />`:lib_core$html`<b><bdi>${of.name}</bdi></b>`}
		<p class="brand-title">${i18n$t("starters.news.title")}</p><p>${i18n$t("starters.news.text")}</p><p><span class="brand-button">${i18n$t("starters.news.act")}</span></p>
		<p class="brand-foot">${footer.split(`
`).map((line2,i)=>lib_core$html`${i>0&&lib_core$html`<br />`}${line2}`)}</p><p class="brand-foot"><span class="brand-link">${i18n$t("visual.unsubscribeText")}</span></p></div></section>`}import{ui_chart$Bars,ui_chart$Legend,ui_chart$Meter,ui_chart$Scale,ui_chart$Spark,ui_chart$few,ui_chart$scaleOf}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{starters$Start,starters$designOf,starters$hasDesign,starters$mjmlDesign,starters$variablesOf}from"./app.js";var BroadcastStatus=({of})=>{let state=of.paused_at?"paused":of.status;return lib_core$html`<${ui_base$Status} of=${{queued:"sending",sent:"completed"}[state]??
state} word=${i18n$t(`broadcasts.status.${state}`)} />`},pageOf2=row=>router$base+paths$encoded`/broadcasts/${row.id}`+(row.status==="draft"?"":"/report");async function cancel(b,after){
let left=b.counts?.remaining??0;await ui_float$confirm({title:i18n$t("broadcasts.cancelTitle",{name:b.name}),text:b.status==="scheduled"?i18n$t("broadcasts.canc\
elScheduled"):i18n$t("broadcasts.cancelText",{n:left}),act:b.status==="scheduled"||!left?i18n$t("broadcasts.cancel"):i18n$t("broadcasts.cancelAct",{n:left}),keep:i18n$t(
"broadcasts.goOn"),n:left})&&(await ui_float$attempt(()=>api$api.post(paths$encoded`/broadcasts/${b.id}/cancel`),answer=>i18n$t("broadcasts.canceled",{n:answer.
canceled_remaining})),after?.())}async function pause(b,after){await ui_float$attempt(()=>b.paused_at?api$api.post(paths$encoded`/broadcasts/${b.id}/resume`):api$api.
post(paths$encoded`/broadcasts/${b.id}/pause`),i18n$t(b.paused_at?"broadcasts.resumeDone":"broadcasts.pauseDone")),after?.()}var unschedule=b=>ui_float$attempt(
async()=>{await api$api.post(paths$encoded`/broadcasts/${b.id}/unschedule`),router$go(paths$encoded`/broadcasts/${b.id}`,{replace:!0})},i18n$t("broadcasts.unsch\
eduleDone")),duplicate=id=>ui_float$attempt(async()=>{let made=await api$api.post(paths$encoded`/broadcasts/${id}/duplicate`);router$go(paths$encoded`/broadcasts/${made.
id}`)},i18n$t("broadcasts.duplicated")),part=(n,of)=>of?lib_core$html`${format$number(n)} <span class="muted">${format$percent(n/of)}</span>`:lib_core$html`<span class="muted">–</span>`;
function Progress({of}){let{counts}=of;if(of.status==="draft")return lib_core$html`<span class="muted">${i18n$t("broadcasts.notSent")}</span>`;if(of.status==="s\
cheduled")return lib_core$html`<${ui_base$Time} at=${of.scheduled_at} as="clock" />`;let done=counts.recipients-counts.remaining;return of.status!=="queued"?lib_core$html`<span class="muted"><${ui_base$Time} at=${of.
sent_at??of.created_at} as="clock" /></span>`:lib_core$html`<span class="how-far"><${ui_chart$Meter} part=${counts.recipients?done/counts.recipients:0} label=${i18n$t(
"broadcasts.progress",{done,n:counts.recipients})} /><span class="num t12 muted">${format$number(done)}</span></span>`}function Broadcasts(){let list=api$useList(
"/broadcasts",{},{live:e=>e.name==="broadcast"}),segments=api$useList("/segments",{},{limit:100}),named2=lib_core$useMemo(()=>new Map(segments.rows.map(s=>[s.id,
s.name])),[segments.rows]),remove2=async row=>{await ui_float$confirm({title:i18n$t("broadcasts.deleteTitle",{name:row.name}),text:i18n$t("broadcasts.deleteText"),
act:i18n$t("broadcasts.delete")})&&(await ui_float$attempt(()=>api$api.del(paths$encoded`/broadcasts/${row.id}`),i18n$t("broadcasts.deleted",{name:row.name})),list.
reload())},audience=row=>row.segment_id?named2.get(row.segment_id)??i18n$t("broadcasts.segmentGone"):i18n$t("composer.everybody"),make=lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${create}>${i18n$t(
"broadcasts.new")}<//>`;return lib_core$html`<${ui_base$Head} title=${i18n$t("broadcasts.title")}><${ui_list$Csv} path="/broadcasts" name="broadcasts" />${make}<//>
	<${ui_list$Table} list=${list} label=${i18n$t("broadcasts.title")} open=${pageOf2} empty=${lib_core$html`<${ui_base$Empty} ghost=${[["Summer dates",lib_core$html`<${BroadcastStatus} of=${{
status:"draft"}} />`,"–"],["Product news",lib_core$html`<${BroadcastStatus} of=${{status:"sent"}} />`,format$number(2482)]]} icon="broadcast" title=${i18n$t("\
broadcasts.none")} act=${make}>${i18n$t("broadcasts.noneText")}<//>`} columns=${[{name:i18n$t("broadcasts.name"),class:"cell-name cell-cut",cell:row=>lib_core$html`<a href=${pageOf2(
row)} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub"><${BroadcastStatus} of=${row} /> <span class="muted">${row.counts.recipients?format$number(
row.counts.recipients):""}</span></span>`},{name:i18n$t("broadcasts.state"),class:"w-status hide-s",cell:row=>lib_core$html`<${BroadcastStatus} of=${row} />`},{
name:i18n$t("broadcasts.audience"),class:"w-part cell-cut drop-1",cell:row=>lib_core$html`<bdi>${audience(row)}</bdi>`},{name:i18n$t("broadcasts.people"),class:"\
w-count num drop-2",cell:row=>row.counts.recipients?format$number(row.counts.recipients):lib_core$html`<span class="muted">–</span>`},{name:i18n$t("broadcasts\
.when"),class:"w-when hide-s",cell:row=>lib_core$html`<${Progress} of=${row} />`},{name:i18n$t("broadcasts.opened"),class:"w-rate num hide-s",cell:row=>part(row.
counts.opened,row.counts.delivered)},{name:i18n$t("broadcasts.clicked"),class:"w-rate num drop-2",cell:row=>part(row.counts.clicked,row.counts.delivered)},{name:i18n$t(
"ui.acts"),hide:!0,class:"cell-acts w-acts",cell:row=>lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("broadcasts.actsOf",{name:row.name})} items=${[
row.status==="draft"?{icon:"edit",name:i18n$t("broadcasts.write"),href:pageOf2(row)}:{icon:"gauge",name:i18n$t("broadcasts.report"),href:pageOf2(row)},{icon:"co\
py",name:i18n$t("broadcasts.duplicate"),run:()=>duplicate(row.id)},row.status==="queued"&&{icon:row.paused_at?"play":"pause",name:i18n$t(row.paused_at?"broadcas\
ts.resume":"broadcasts.pause"),run:()=>pause(row,list.reload)},row.status==="scheduled"&&{icon:"edit",name:i18n$t("broadcasts.unschedule"),run:()=>unschedule(row)},
(row.status==="queued"||row.status==="scheduled")&&{icon:"x",name:i18n$t("broadcasts.cancel"),danger:!0,run:()=>cancel(row,list.reload)},row.status==="draft"&&{
icon:"trash",name:i18n$t("broadcasts.delete"),danger:!0,run:()=>remove2(row)}]} />`}]} />`}var create=()=>ui_float$dialog(close=>lib_core$html`<${New} close=${close} />`),
beginning=`<!doctype html>
<html lang="en">
<body>
<p>Hello {{{contact.first_name|there}}},</p>
<p></p>
<p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p>
</body>
</html>
`,named=(name,address2)=>name?/^[^()<>[\]:;@\\,."]+$/.test(name)?`${name} <${address2}>`:`"${name.replace(/["\\]/g,"\\$&")}" <${address2}>`:address2,copied=["su\
bject","preview_text","html","text","design","syntax","variants"];async function contentOf(start,name,{template,last}){if(start!=="template"&&start!=="last")return{
subject:name,syntax:"liquid",html:beginning,...starters$hasDesign(start)?{design:starters$designOf(start,{broadcast:!0})}:{}};let whole=await api$api.get(start===
"last"?paths$encoded`/broadcasts/${last.id}`:paths$encoded`/templates/${template}`),out=Object.fromEntries(copied.map(part2=>[part2,whole[part2]]).filter(([,value])=>value!=
null));return{...out,subject:out.subject||name,html:out.html??beginning,...start==="last"&&whole.topic_id?{topic_id:whole.topic_id}:{}}}function New({close}){let domains=api$useList(
"/domains",{},{limit:100}),segments=api$useList("/segments",{},{limit:100}),templates=api$useList("/templates",{},{limit:100}),last=api$useList("/broadcasts",{},
{limit:1}).rows[0],verified=domains.rows.filter(d=>d.status==="verified").map(d=>d.name),[name,setName]=lib_core$useState(""),[from,setFrom]=lib_core$useState(null),
[segment,setSegment]=lib_core$useState(""),[start,setStart]=lib_core$useState("announcement"),[picked,pick]=lib_core$useState(""),[wrong,setWrong]=lib_core$useState(
""),template=picked||templates.rows[0]?.id,sender=from??(verified.length?named(state$membership.value?.name??"",`news@${verified[0]}`):""),make=async()=>{try{let made=await api$api.
post("/broadcasts",{name:name.trim(),from:sender,...await contentOf(start,name.trim(),{template,last}),...segment?{segment_id:segment}:{}});close(),router$go(paths$encoded`/broadcasts/${made.
id}`)}catch(e){if(!(e instanceof api$ApiError))throw e;setWrong(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("broadcasts.new")} onSubmit=${make} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!name.trim()||!sender}>${i18n$t("broadcasts.begin")}<//>`}>
		<${ui_base$Input} label=${i18n$t("broadcasts.name")} hint=${i18n$t("broadcasts.nameHint")} value=${name} onInput=${setName} autofocus maxlength="255" />
		<${ui_base$Input} label=${i18n$t("composer.from")} hint=${!domains.loading&&!verified.length?i18n$t("broadcasts.noDomain"):i18n$t("broadcasts.fromHint")} value=${sender} onInput=${setFrom} error=${wrong} />
		<${ui_base$Select} label=${i18n$t("broadcasts.audience")} value=${segment} onChange=${setSegment} options=${[["",i18n$t("composer.everybody")],...segments.rows.
map(s=>[s.id,s.name])]} />
		<${starters$Start} value=${start} onChange=${setStart} hint=${start==="last"?i18n$t("starters.copyOf",{name:last.name}):void 0} options=${["announcement","dig\
est","receipt",...templates.rows.length?["template"]:[],...last?["last"]:[],"blank","mjml","html"]} />
		${start==="template"&&lib_core$html`<${ui_base$Select} label=${i18n$t("starters.pick")} value=${template} onChange=${pick} options=${templates.rows.map(row=>[
row.id,row.name])} />`}<//>`}function usePost(path,body2,stamp){let[state,setState]=lib_core$useState({loading:!0}),[again,setAgain]=lib_core$useState(0),key=`${path} ${JSON.stringify(body2??
null)} ${stamp} ${again}`;return lib_core$useEffect(()=>{let current=!0;return setState(was=>({...was,loading:!0})),api$api.read(path,body2).then(data=>current&&
setState({data,loading:!1}),error=>{if(!(error instanceof api$ApiError))throw error;current&&setState({error,loading:!1})}),()=>{current=!1}},[key]),{data:state.
data,error:state.error,loading:state.loading,reload:()=>setAgain(n=>n+1)}}var testMail=(path,language="")=>ui_float$dialog(close=>lib_core$html`<${Test} path=${path} language=${language} close=${close} />`);function Test({path,language,
close}){let[to,setTo]=lib_core$useState(state$me.value?.email??""),[wrong,setWrong]=lib_core$useState(""),send=async()=>{try{let{data}=await api$api.post(path,{
to:to.split(/[\s,;]+/).filter(Boolean),...language?{language}:{}});close(),ui_float$toast(i18n$t("composer.testSent",{n:data.length}),{href:router$base+paths$encoded`/emails/${data[0].
id}`,word:i18n$t("composer.testSee")})}catch(e){if(!(e instanceof api$ApiError))throw e;setWrong(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"composer.test")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t(
"composer.testAct")}<//>`}>
		<${ui_base$Input} label=${i18n$t("composer.testTo")} hint=${i18n$t("composer.testHint")} value=${to} onInput=${setTo} error=${wrong} autofocus /><//>`}var Penalties=({
score,more})=>lib_core$html`<ul class="items">${score.penalties.map(p=>lib_core$html`<li><${ui_base$Icon} name=${"alert"} class=${p.severity==="critical"?"bad":
"warn"} /><span class="grow break">${p.message}</span><span class="num">−${format$number(p.points)}</span></li>`)}
	${!score.penalties.length&&lib_core$html`<li><${ui_base$Icon} name="check" class="good" /><span class="grow">${i18n$t("review.noPenalties")}</span></li>`}${more}</ul>`,
Tags=({tags})=>tags.map(tag=>lib_core$html`<li><${ui_base$Icon} name=${"alert"} class=${tag.refused?"bad":"warn"} /><span class="grow break">${i18n$t(tag.refused?
"review.unfilledTag":"review.maybeTag",tag)}</span></li>`);function Checks({draft,close}){ui_base$useEscape(close);let plan=usePost(paths$encoded`/broadcasts/${draft.
value.id}/plan`,void 0,draft.saved);return lib_core$html`<section aria-label=${i18n$t("composer.checks")}><div class="bench-head"><h2 class="t14">${i18n$t("comp\
oser.checks")}</h2>${plan.data&&lib_core$html`<span><span class="medium">${format$number(plan.data.score.score)}</span> <span class="muted">${i18n$t(`bands.${plan.
data.score.band}`)}</span></span>`}<span class="push"></span><${ui_base$Button} icon="x" kind="quiet" label=${i18n$t("ui.close")} onClick=${close} /></div>
	<div class="bench-pad">${plan.error?lib_core$html`<${ui_base$Failed} error=${plan.error} retry=${plan.reload} title=${i18n$t("composer.notYet")} />`:plan.data?
lib_core$html`<${Penalties} score=${plan.data.score} more=${lib_core$html`<${Tags} tags=${plan.data.unfilled_tags} />`} />`:lib_core$html`<${ui_base$Bones} rows=${4} />`}</div></section>`}var read=file=>new Promise((done,fail)=>{let reader=new FileReader;reader.onload=()=>done({filename:file.name,content:String(reader.result).split(",")[1]??""}),
reader.onerror=()=>fail(reader.error),reader.readAsDataURL(file)});function Files({draft}){let input=lib_core$useRef(null),[busy,setBusy]=lib_core$useState(!1),
files=draft.value.attachments,set=async(kept,added=[])=>{setBusy(!0),await ui_float$attempt(async()=>{await draft.save()&&(await api$api.patch(draft.path,{attachments:[
...kept.map(file=>({keep:file.id})),...await Promise.all(added.map(read))]}),await draft.settle(!0))}),setBusy(!1)};return lib_core$html`<span class="row row--wrap">${files.
map(file=>lib_core$html`<span key=${file.id} class="row"><${ui_base$Icon} name="attach" /><bdi class="break">${file.filename}</bdi> <span class="muted">${format$size(
file.size)}</span><${ui_base$Button} kind="quiet" icon="x" label=${i18n$t("template.remove",{key:file.filename})} disabled=${busy} onClick=${()=>set(files.filter(
other=>other!==file))} /></span>`)}
	<${ui_base$Button} icon="attach" busy=${busy} onClick=${()=>input.current.click()}>${i18n$t("brand.choose")}<//>
	<input class="vh" type="file" tabindex="-1" multiple aria-label=${i18n$t("email.tabs.attachments")} ref=${input} onChange=${e=>{let added=[...e.currentTarget.files];
e.currentTarget.value="",added.length&&set(files,added)}} /></span>`}var builtIn=["FIRST_NAME","LAST_NAME","EMAIL","contact.first_name","contact.last_name","contact.email","UNSUBSCRIBE_URL","RESEND_UNSUBSCRIBE_URL"],line=(text,at)=>text.
slice(0,at).split(`
`).length;function used(text){let out=[];for(let at=text.indexOf("{{{");at>=0;at=text.indexOf("{{{",at+3)){for(;text[at+3]==="{";)at++;let end2=text.indexOf("}}\
}",at),inside=end2<0?"":text.slice(at+3,end2);if(end2<0||!/^\s*(contact\.)?\w+\s*(\|[^]*)?$/.test(inside)||inside.includes("{{{")){out.push({from:at,to:end2<0?Math.
min(text.length,at+3):end2+3,line:line(text,at),key:inside.trim(),fallback:null,broken:!0});continue}let cut=inside.indexOf("|");out.push({from:at,to:end2+3,line:line(
text,at),key:(cut<0?inside:inside.slice(0,cut)).trim(),fallback:cut<0?null:inside.slice(cut+1).trim()}),at=end2}return out}function distance(a,b){let row=Array.
from({length:b.length+1},(_,i)=>i);for(let i=1;i<=a.length;i++){let next=[i];for(let j=1;j<=b.length;j++)next[j]=Math.min(next[j-1]+1,row[j]+1,row[j-1]+(a[i-1]===
b[j-1]?0:1));row=next}return row[b.length]}function nearest(key,names){let like=names.map(name=>({name,far:distance(key.toLowerCase(),name.toLowerCase())})).sort(
(a,b)=>a.far-b.far)[0];return like&&like.far<=Math.max(1,Math.floor(key.length/3))?like.name:null}function findings(text,names,kind="property"){return used(text).
filter(v=>v.broken||!names.includes(v.key)).map(v=>{if(v.broken)return{...v,meant:null,fix:null,message:i18n$t("editor.broken",{line:v.line})};let meant=nearest(
v.key,names),fix=meant&&`{{{${meant}${v.fallback===null?"":`|${v.fallback}`}}}}`;return{...v,meant,fix,message:meant?i18n$t(`editor.${kind}Meant`,{line:v.line,key:v.
key,meant}):i18n$t(`editor.${kind}`,{line:v.line,key:v.key})}})}var most2=8;function fieldOf(key){let name=key.replace(/^contact\./,""),builtIn2={FIRST_NAME:"first_name",LAST_NAME:"last_name",EMAIL:null,first_name:"first_nam\
e",last_name:"last_name",email:null};return name in builtIn2?builtIn2[name]:`property:${name}`}function without(segment,field){let none={field,op:"is_not_set"};
if(!segment)return{match:"all",conditions:[none]};let{filter}=segment;return!filter||filter.match!=="all"&&filter.conditions.length>1?null:{match:"all",conditions:[
...filter.conditions,none]}}function useNone({key,segment,ready}){let field=fieldOf(key),filter=ready&&field?without(segment,field):null,asked=JSON.stringify(filter),
[found,setFound]=lib_core$useState(null);return lib_core$useEffect(()=>{if(setFound(null),!filter)return;let end2=new AbortController;return api$api.read("/segm\
ents/preview",{filter},{signal:end2.signal}).then(setFound,()=>{}),()=>end2.abort()},[asked]),found}function Variable({name,otherwise,segment,ready}){let none=useNone(
{key:name,segment,ready});return lib_core$html`<span><code class="tk-v">${name.replace(/^contact\./,"")}</code> ${none?.count>0&&lib_core$html`<span class="muted">${i18n$t(
"editor.haveNone",{n:none.count,count:`${format$number(none.count)}${none.exact?"":"+"}`})},</span> `}${otherwise?i18n$t("editor.else",{text:otherwise}):lib_core$html`<span class="warn">${i18n$t(
"editor.elseNothing")}</span>`}</span>`}function Variables({texts,fallbacks,segment,liquid}){let audience=api$useGet(segment?paths$encoded`/segments/${segment}`:
null),all=lib_core$useMemo(()=>{let byName=new Map;for(let text of texts)for(let v of[...used(text??""),...liquid?liquid$contactIn(text??""):[]])!("broken"in v&&
v.broken)&&!/(UNSUBSCRIBE|VIEW)_URL$/.test(v.key)&&(v.fallback!==null||!byName.has(v.key))&&byName.set(v.key,v.fallback);return[...byName]},[...texts,liquid]);return lib_core$html`<div class="vars"><span>${i18n$t(
"editor.variables")}</span>${all.length?all.map(([name,fallback],i)=>lib_core$html`<${Variable} key=${name} name=${name} otherwise=${fallback??fallbacks[name]} segment=${segment?
audience.data:void 0} ready=${i<most2&&(!segment||!!audience.data)} />`):lib_core$html`<span>${i18n$t(liquid?"editor.noVariablesLiquid":"editor.noVariables")}</span>`}</div>`}function diff(before,after){let a=before.split(/\r\n?|\n/),b=after.split(/\r\n?|\n/),head=0;for(;head<a.length&&head<b.length&&a[head]===b[head];)head++;let tail=0;
for(;tail<a.length-head&&tail<b.length-head&&a[a.length-1-tail]===b[b.length-1-tail];)tail++;let x=a.slice(head,a.length-tail),y=b.slice(head,b.length-tail),out=a.
slice(0,head).map((text,i)=>[" ",text,i+1]);return x.length*y.length>4e6?out.push(...x.map((text,i)=>["-",text,head+i+1]),...y.map((text,i)=>["+",text,head+i+1])):
out.push(...common(x,y,head)),[...out,...b.slice(b.length-tail).map((text,i)=>[" ",text,b.length-tail+i+1])]}function common(x,y,head){let w=y.length+1,long2=new Uint32Array(
(x.length+1)*w);for(let i2=x.length-1;i2>=0;i2--)for(let j2=y.length-1;j2>=0;j2--)long2[i2*w+j2]=x[i2]===y[j2]?long2[(i2+1)*w+j2+1]+1:Math.max(long2[(i2+1)*w+j2],
long2[i2*w+j2+1]);let out=[],i=0,j=0;for(;i<x.length||j<y.length;)i<x.length&&j<y.length&&x[i]===y[j]?out.push([" ",x[i++],head+ ++j]):j>=y.length||i<x.length&&
long2[(i+1)*w+j]>=long2[i*w+j+1]?out.push(["-",x[i],head+ ++i]):out.push(["+",y[j],head+ ++j]);return out}function Diff({before,after}){let lines=diff(before,after),
near=lines.map((_,i)=>lines.slice(Math.max(0,i-2),i+3).some(([sign])=>sign!==" "));return near.includes(!0)?lib_core$html`<ol class="diff" tabindex="0" aria-label=${i18n$t(
"editor.diff")}>${lines.map(([sign,text,n],i)=>near[i]?lib_core$html`<li class=${{"+":"is-add","-":"is-del"}[sign]??""}><span class="n">${n}</span><span>${sign===
"-"?"−":sign}</span><span>${text}</span></li>`:near[i-1]?lib_core$html`<li><span class="n">…</span></li>`:null)}</ol>`:lib_core$html`<p class="muted t13r">${i18n$t(
"editor.same")}</p>`}function languageName(tag){try{return new Intl.DisplayNames([i18n$language.value],{type:"language"}).of(tag)??tag}catch{return tag}}var who=by=>by.type==="person"?by.id===state$me.value?.id?i18n$t("versions.you"):i18n$t("versions.person"):i18n$t(`versions.${by.type}`),textsOf=(of,fields2)=>[
["",of],...Object.entries(of.variants??{})].flatMap(([language,part2])=>fields2.map(f=>[`${language&&`${languageName(language)}: `}${i18n$t(`versions.${f}`)}`,part2[f]??
""]));function Differences({was,now,fields:fields2}){let before=new Map(textsOf(was,fields2)),after=new Map(was.variants?textsOf(now,fields2):textsOf({...now,variants:{}},
fields2)),names=[...new Set([...before.keys(),...after.keys()])].filter(name=>(before.get(name)??"")!==(after.get(name)??""));return names.length?names.map(name=>lib_core$html`<h3 class="t13 versions-field">${name}</h3><${Diff} before=${before.
get(name)??""} after=${after.get(name)??""} />`):lib_core$html`<p class="muted t13r">${i18n$t("editor.same")}</p>`}function Versions({draft,fields:fields2,close}){
ui_base$useEscape(close);let list=api$useList(`${draft.path}/versions`,{saved:void 0},{limit:50}),[at,setAt]=lib_core$useState(null),shown3=api$useGet(at===null?
null:draft.path+paths$encoded`/versions/${at}`),restore=n=>ui_float$attempt(async()=>{await draft.save()&&(await api$api.post(draft.path+paths$encoded`/versions/${n}/restore`),
draft.take(await api$api.get(draft.path)),await list.reload(),setAt(null))},i18n$t("versions.restored",{n}),{undo:()=>ui_float$attempt(async()=>{let{data}=await api$api.
get(`${draft.path}/versions`,{limit:1});await api$api.post(draft.path+paths$encoded`/versions/${data[0].n}/restore`),draft.take(await api$api.get(draft.path))})});
return lib_core$html`<section aria-label=${i18n$t("versions.title")}><div class="bench-head"><h2 class="t14">${at===null?i18n$t("versions.title"):i18n$t("versio\
ns.one",{n:at})}</h2><span class="push"></span>
	${at!==null&&lib_core$html`<${ui_base$Button} onClick=${()=>setAt(null)}>${i18n$t("versions.all")}<//><${ui_base$Button} icon="history" onClick=${()=>restore(at)}>${i18n$t(
"versions.restore")}<//>`}<${ui_base$Button} icon="x" kind="quiet" label=${i18n$t("ui.close")} onClick=${close} /></div>
	<div class="bench-pad">${at!==null?shown3.error?lib_core$html`<${ui_base$Failed} error=${shown3.error} />`:shown3.data?lib_core$html`<${Differences} was=${shown3.
data} now=${draft.value} fields=${fields2} />`:lib_core$html`<${ui_base$Bones} />`:list.loading?lib_core$html`<${ui_base$Bones} rows=${4} />`:list.rows.length?lib_core$html`<ul class="items">${list.
rows.map(v=>lib_core$html`<li><span class="num muted">${v.n}</span><span class="grow"><${ui_base$Time} at=${v.created_at} as="clock" /> <span class="muted">${who(
v.changed_by)}, ${format$size(v.bytes)}</span></span><${ui_base$Button} onClick=${()=>setAt(v.n)}>${i18n$t("versions.compare")}<//></li>`)}</ul>`:lib_core$html`<${ui_base$Empty} icon="history" title=${i18n$t(
"versions.none")}>${i18n$t("versions.noneText")}<//>`}</div></section>`}var members=["subject","preview_text","html","text","design"],offered=["ar","bg","cs","da","de","el","en","es","et","fi","fr","hi","hr","hu","id","it","ja","ko",
"lt","lv","nl","no","pl","pt","pt-BR","ro","ru","sk","sl","sv","th","tr","uk","vi","zh-Hans","zh-Hant"];function canonical(typed){try{return Intl.getCanonicalLocales(
typed.trim().replaceAll("_","-"))[0]}catch{return}}function inLanguage(draft,of){let within=other=>inLanguage(draft,other);if(!of)return{...draft,language:"",within};
let none=Object.fromEntries(members.map(name=>[name,null]));return{...draft,language:of,within,change:parts3=>{let now=draft.now(),mine=Object.entries(parts3).filter(
([name])=>members.includes(name)),shared=Object.fromEntries(Object.entries(parts3).filter(([name])=>!members.includes(name)));draft.change({...shared,...mine.length?
{variants:{...now.variants,[of]:{...now.variants?.[of],...Object.fromEntries(mine)}}}:{}})},value:{...draft.value,...none,...draft.value.variants?.[of]}}}var missing=(value,of,names)=>names.
filter(name=>value[name]&&!value.variants?.[of]?.[name]),languagesOf=value=>Object.keys(value.variants??{}).sort();async function addLanguage(draft,show){let made=await ui_float$dialog(
close=>lib_core$html`<${Add} taken=${languagesOf(draft.value)} close=${close} />`);made&&(draft.change({variants:{...draft.now().variants,[made]:{}}}),show(made))}
function Languages({draft,at,names,onChange}){let{value}=draft,all=languagesOf(value);if(!all.length)return null;let remove2=()=>{let was={variants:draft.value.
variants},{[at]:_,...rest}=was.variants;draft.change({variants:rest}),onChange(""),ui_float$toast(i18n$t("languages.removed",{language:languageName(at)}),{undo:()=>draft.
change(was)})},lacks=at?missing(value,at,names):[],copy=()=>{let was={variants:draft.value.variants},copied2=[...lacks,...lacks.includes("html")?["design"]:[]].
map(name=>[name,value[name]]);draft.change({variants:{...value.variants,[at]:{...value.variants[at],...Object.fromEntries(copied2)}}}),draft.redraw(),ui_float$toast(
i18n$t("languages.copied",{language:languageName(at)}),{undo:()=>{draft.change(was),draft.redraw()}})},tab=of=>{let n=of?missing(value,of,names).length:0;return lib_core$html`<button type="button" class="tab" role="tab" key=${of} aria-selected=${String(
of===at)} tabindex=${of===at?void 0:-1} title=${of?languageName(of):void 0} onClick=${()=>onChange(of)}>${of||i18n$t("languages.default")}${n>0&&lib_core$html` <span class="warn" title=${i18n$t(
"languages.missing",{n})}><${ui_base$Icon} name="alert" /><span class="vh">${i18n$t("languages.missing",{n})}</span></span>`}</button>`},keys=e=>{let order=["",
...all],to={ArrowRight:order.indexOf(at)+1,ArrowLeft:order.indexOf(at)-1,Home:0,End:order.length-1}[e.key];if(to===void 0)return;e.preventDefault(),onChange(order[(to+
order.length)%order.length]);let row=e.currentTarget;requestAnimationFrame(()=>row.querySelector('[aria-selected="true"]')?.focus())};return lib_core$html`<div class="languages"><div class="tabs tabs--in" role="tablist" aria-label=${i18n$t(
"languages.title")} onKeyDown=${keys}>${["",...all].map(tab)}</div>
	<${ui_base$Button} icon="plus" kind="quiet" label=${i18n$t("languages.add")} onClick=${()=>addLanguage(draft,onChange)} />
	${at&&lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("languages.acts",{language:languageName(at)})} items=${[{icon:"copy",name:i18n$t("languages.c\
opy"),disabled:!lacks.length,run:copy},{icon:"trash",name:i18n$t("languages.remove",{language:languageName(at)}),danger:!0,run:remove2}]} />`}</div>
	${lacks.length>0&&lib_core$html`<div class="vars"><span class="warn row"><${ui_base$Icon} name="alert" /><span>${i18n$t("languages.falls",{language:languageName(
at),names:lacks.map(name=>name==="html"?"HTML":i18n$t(`composer.${name}`)).join(", ")})}</span></span><${ui_base$Button} class="push" onClick=${copy}>${i18n$t("\
languages.copy")}<//></div>`}`}function Add({taken,close}){let[typed,type]=lib_core$useState(""),list=lib_core$useId(),tag=typed.trim()?canonical(typed):void 0,
wrong=typed.trim()&&!tag?i18n$t("languages.unknown"):tag&&taken.includes(tag)?i18n$t("languages.taken"):"";return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"languages.addTitle")} onSubmit=${()=>tag&&!wrong&&close(tag)} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!tag||
!!wrong}>${i18n$t("languages.add")}<//>`}>
		<p>${i18n$t("languages.text")}</p>
		<label class="field"><span class="field-label">${i18n$t("languages.tag")}</span><input class="input mono" list=${list} value=${typed} autofocus placeholder="de, fr, pt-BR" aria-invalid=${wrong?
"true":void 0} onInput=${e=>type(e.currentTarget.value)} /></label>
		<datalist id=${list}>${offered.filter(of=>!taken.includes(of)).map(of=>lib_core$html`<option value=${of}>${languageName(of)}</option>`)}</datalist>
		${wrong?lib_core$html`<p class="field-error" role="alert"><${ui_base$Icon} name="alert" />${wrong}</p>`:tag&&lib_core$html`<p class="field-hint">${languageName(
tag)}</p>`}<//>`}var parts=["subject","preview_text","html","text"];function changes(draft){return["",...languagesOf(draft.value)].flatMap(of=>{let{value}=inLanguage(draft,of);return parts.
map(name=>[of,name,value[name]??"",liquid$kept(value[name]??"")]).filter(([,,before,after])=>before!==after)})}async function convert(draft){let found=changes(draft);
if(!await ui_float$dialog(close=>lib_core$html`<${Ask} found=${found} close=${close} />`))return;let was=Object.fromEntries(["syntax","variants",...parts,"desig\
n"].filter(name=>name in draft.value).map(name=>[name,draft.now()[name]]));draft.change({syntax:"liquid"});for(let[of,name,,after]of found){let mine=inLanguage(
draft,of);mine.change({[name]:after,...name==="html"&&mine.value.design?{design:JSON.stringify(JSON.parse(mine.value.design,(_,value)=>typeof value=="string"?liquid$kept(
value):value))}:{}})}draft.redraw(),ui_float$toast(i18n$t("convert.done"),{undo:()=>{draft.change(was),draft.redraw()}})}function Ask({found,close}){return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"convert.title")} onSubmit=${()=>close(!0)} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close(!1)}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t(
"convert.act")}<//>`}>
		<p>${i18n$t("convert.text")}</p>
		${found.length?lib_core$html`<p>${i18n$t("convert.keeps")}</p>${found.map(([of,name,before,after])=>lib_core$html`<h3 class="t13 versions-field">${of&&`${languageName(
of)}: `}${i18n$t(`versions.${name}`)}</h3><${Diff} before=${before} after=${after} />`)}`:lib_core$html`<p class="row"><${ui_base$Icon} name="check" class="good" />${i18n$t(
"convert.same")}</p>`}<//>`}var Convert=({draft})=>draft.value.syntax==="plain"?lib_core$html`<div class="vars"><span>${i18n$t("convert.offer")}</span><${ui_base$Button} class="push" onClick=${()=>convert(
draft)}>${i18n$t("convert.ask")}<//></div>`:null;import{drafts$Left,drafts$Saved,drafts$forgetDrafts,drafts$placeOf,drafts$useDraft}from"./app.js";var most3=5<<20,heavy=1e6,long=102*1024,wide=552,accepted="image/png,image/jpeg,image/gif,image/webp",seen=lib_core$signal({});function see(images){seen.value={
...seen.value,...Object.fromEntries(images.flatMap(image=>image.sizes.filter(({url})=>url).map(size=>[size.url,{...image,bytes:size.bytes}])))}}async function upload(file){
if(file.size>most3){ui_float$toast(i18n$t("images.tooLarge",{name:file.name,size:format$size(file.size)}),{kind:"bad"});return}let form=new FormData;form.append(
"file",file,file.name);try{let image=await(await api$request("POST","/images",{body:form})).json();return see([image]),image}catch(e){if(!(e instanceof api$ApiError))
throw e;ui_float$toast(i18n$t("images.refused",{name:file.name,message:e.message}),{kind:"bad"});return}}var embedded=({url,width,alt})=>({src:url,width:Math.min(
width,wide),alt:alt??""});async function contentOf2(id){let blob=await(await api$request("GET",paths$encoded`/images/${id}/content`)).blob();return new Promise(
(done,fail)=>{let reader=new FileReader;reader.onload=()=>done(String(reader.result)),reader.onerror=()=>fail(reader.error),reader.readAsDataURL(blob)})}var isOurs=src=>/\/i\/[0-9a-f]{32}(-\d+)?\.(png|jpg|gif)$/.
test(src),reading=null,learn=()=>reading??=api$api.get("/images",{limit:100}).then(({data})=>see(data),e=>{if(reading=null,!(e instanceof api$ApiError))throw e});
async function imageAt(src){if(isOurs(src))return seen.value[src]||await learn(),seen.value[src]}async function lookAt(src){let image=await imageAt(src);try{return image&&
await contentOf2(image.id)}catch(e){if(!(e instanceof api$ApiError))throw e;return}}async function describe(src,alt){let image=await imageAt(src);if(!(!image||image.
alt||!alt.trim()))try{see([await api$api.patch(paths$encoded`/images/${image.id}`,{alt:alt.trim()})])}catch(e){if(!(e instanceof api$ApiError))throw e}}function Picture({
of}){let box=lib_core$useRef(null),[shown3,show]=lib_core$useState("");return lib_core$useEffect(()=>{let current=!0,eye=new IntersectionObserver(([entry])=>{entry.
isIntersecting&&(eye.disconnect(),contentOf2(of.id).then(data=>current&&show(data),e=>{if(!(e instanceof api$ApiError))throw e}))});return eye.observe(box.current),
()=>{current=!1,eye.disconnect()}},[of.id]),lib_core$html`<span class="picture" ref=${box}>${shown3&&lib_core$html`<img src=${shown3} alt=${of.alt??""} />`}</span>`}
function DropImages({take,busy,many=!1}){let input=lib_core$useRef(null),[over,setOver]=lib_core$useState(!1);return lib_core$html`<div class=${`brand-drop imag\
e-drop ${over?"is-over":""}`} onDragOver=${e=>{e.preventDefault(),setOver(!0)}} onDragLeave=${()=>setOver(!1)} onDrop=${e=>{e.preventDefault(),setOver(!1),take(
[...e.dataTransfer.files])}}><span class="muted t13r">${i18n$t("images.drop")}</span><${ui_base$Button} icon="attach" busy=${busy} onClick=${()=>input.current.click()}>${i18n$t(
"brand.choose")}<//><span class="muted t12">${i18n$t("images.limits")}</span>
	<input class="vh" type="file" tabindex="-1" multiple=${many} accept=${accepted} aria-label=${i18n$t("images.drop")} ref=${input} onChange=${e=>{let files=[...e.
currentTarget.files];e.currentTarget.value="",take(files)}} /></div>`}var pickImage=()=>ui_float$dialog(close=>lib_core$html`<${Pick} close=${close} />`);function Pick({
close}){let list=api$useList("/images",{},{limit:24}),[busy,setBusy]=lib_core$useState(!1),[chosen,choose]=lib_core$useState(null),[alt,setAlt]=lib_core$useState(
""),take=async([file])=>{if(!file||busy)return;setBusy(!0);let made=await upload(file);setBusy(!1),made&&(choose(made),setAlt(made.alt??""))},done=async()=>{chosen&&
(see([chosen]),await describe(chosen.url,alt),close({...chosen,alt}))},rows=[...chosen&&!list.rows.some(row=>row.id===chosen.id)?[chosen]:[],...list.rows];return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"images.pick")} onSubmit=${done} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!chosen}>${i18n$t(
"images.use")}<//>`}>
		<${DropImages} take=${take} busy=${busy} />
		${list.error&&!rows.length?lib_core$html`<${ui_base$Failed} error=${list.error} retry=${list.reload} />`:list.loading?lib_core$html`<${ui_base$Bones} rows=${3} />`:
lib_core$html`<div class="pictures" role="group" aria-label=${i18n$t("images.title")}>${rows.map(row=>lib_core$html`<button type="button" key=${row.id} class="picture-pick" aria-pressed=${String(
chosen?.id===row.id)} disabled=${!row.url} aria-label=${row.alt||i18n$t("images.noAlt")} onClick=${()=>{choose(row),setAlt(row.alt??"")}}><${Picture} of=${row} /></button>`)}</div><${ui_list$Foot} list=${list} />`}
		${chosen&&lib_core$html`<${ui_base$Input} label=${i18n$t("visual.words.alt")} hint=${i18n$t("images.altHint")} value=${alt} onInput=${setAlt} maxlength="500" />`}<//>`}
var escapes={"&":"&amp;","<":"&lt;",'"':"&quot;"};function insert(editor,images){for(let image of images){let{src,alt,width}=embedded(image),attributes=Object.entries(
{src,alt,width:String(width),style:"max-width:100%;height:auto"}).map(([name,value])=>` ${name}="${value.replace(/[&<"]/g,character=>escapes[character])}"`);editor?.
insert(`<img${attributes.join("")}>`)}}async function insertFiles(editor,files){for(let file of files){let made=await upload(file);made&&insert(editor,[made])}}
var InsertImage=({editor})=>lib_core$html`<${ui_base$Button} kind="quiet" icon="image" label=${i18n$t("images.pick")} onClick=${async()=>{let image=await pickImage();
image&&insert(editor.current,[image])}} />`;function Weight({value}){let source=value.html??"",bytes=new Blob([source]).size,used2=[...new Set([...source.matchAll(
/(?:src|background)="(https?:\/\/[^"]+)"/g)].map(([,src])=>src).filter(isOurs))],known=used2.map(src=>seen.value[src]);lib_core$useEffect(()=>{known.every(Boolean)||
learn()},[used2.join(" ")]);let weigh=known.reduce((sum,image)=>sum+(image?.bytes??0),0);return lib_core$html`${bytes>long&&lib_core$html`<div class="vars"><span class="warn row"><${ui_base$Icon} name="alert" /><span>${i18n$t(
"images.longHTML",{size:format$size(bytes)})}</span></span></div>`}
	${weigh>heavy&&lib_core$html`<div class="vars"><span class="warn row"><${ui_base$Icon} name="alert" /><span>${i18n$t("images.heavy",{size:format$size(weigh)})}</span></span></div>`}`}
var NoImages=()=>lib_core$html`<${ui_base$Empty} icon="image" title=${i18n$t("images.none")}>${i18n$t("images.noneText")}<//>`;function CodeEditor({text,stamp,kind="html",label,known=[],completions=[],findings:findings2=()=>[],refused=null,onChange,onImages,handle}){let host=lib_core$useRef(
null),editor=lib_core$useRef(null),last=lib_core$useRef({});last.current={known,completions,findings:findings2,refused,onChange};let[failed,fail]=lib_core$useState(
null),[ready,setReady]=lib_core$useState(!1);if(lib_core$useEffect(()=>{let gone=!1;return import("./ui/editor-setup.js").then(({mount})=>{gone||(editor.current=
mount(host.current,{text,kind,label,description:i18n$t("editor.leave"),phrases:i18n$find("editor.phrases")??{},known:()=>last.current.known,findings:now=>last.current.
findings(now),refused:()=>last.current.refused,completions:()=>last.current.completions,changed:read2=>last.current.onChange(read2())}),handle&&(handle.current=
editor.current),setReady(!0))}).catch(error=>gone||fail(error)),()=>{gone=!0,editor.current?.end(),editor.current=null,handle&&(handle.current=null)}},[kind]),lib_core$useEffect(
()=>{editor.current?.write(text)},[stamp]),lib_core$useEffect(()=>{editor.current?.look()},[known,findings2,refused]),failed)return lib_core$html`<${ui_base$Failed} title=${i18n$t(
"editor.failed")} error=${new api$ApiError(0,{message:i18n$t("editor.failedText")},"")} retry=${()=>location.reload()} />`;let take=(e,data)=>{let files=[...data?.
files??[]].filter(({type})=>type.startsWith("image/"));!onImages||!files.length||data.getData("text/plain")||(e.preventDefault(),e.stopPropagation(),onImages(files))};
return lib_core$html`${!ready&&lib_core$html`<${ui_base$Bones} rows=${12} />`}<div class="cm-editor code-host" ref=${host} hidden=${!ready} onDropCapture=${e=>take(
e,e.dataTransfer)} onPasteCapture=${e=>take(e,e.clipboardData)}></div>`}var Refusal=({of,editor,here,show})=>lib_core$html`<div class="vars" role="alert"><span class="bad row"><${ui_base$Icon} name="alert" /><span>${of.
message}</span></span>${of.place&&(here?lib_core$html`<${ui_base$Button} class="push" onClick=${()=>editor.current?.goTo(of.place.line,of.place.column)}>${i18n$t(
"editor.goTo",{line:of.place.line})}<//>`:show&&lib_core$html`<${ui_base$Button} class="push" onClick=${show}>${i18n$t("editor.show")}<//>`)}</div>`;var address=new URL("./visual.html",import.meta.url).href,isDark=()=>(document.documentElement.dataset.theme??(matchMedia("(prefers-color-scheme: dark)").matches?
"dark":"light"))==="dark",isMJML=design=>!!design?.startsWith('{"type":"mjml"'),parts2=value=>[...value.design?[["visual",isMJML(value.design)?"MJML":i18n$t("vi\
sual.part")]]:[],["html","HTML"],["text",i18n$t("composer.text")]],partOf=(value,chosen)=>value.design?chosen??"visual":chosen==="text"?"text":"html";function byHand(draft,now,back){
let{design,html:was}=draft.value;if(!design||now===was){draft.change({html:now});return}draft.change({html:now,design:null}),ui_float$toast(i18n$t("visual.dropp\
ed"),{kind:"info",undo:()=>{draft.change({html:was,design}),back()}})}var Warning=({value})=>value.design?lib_core$html`<div class="vars"><span>${i18n$t("visual\
.warning")}</span></div>`:null;function Frame({port,hear,hidden:hidden2,title=i18n$t("visual.title")}){let frame=lib_core$useRef(null),last=lib_core$useRef(null);
last.current=hear;let connect=()=>{let channel=new MessageChannel;port.current=channel.port1,channel.port1.onmessage=({data})=>last.current(data),frame.current.
contentWindow.postMessage("begin","*",[channel.port2])};return lib_core$useEffect(()=>()=>port.current?.close(),[]),lib_core$html`<iframe class="visual-frame" hidden=${hidden2} ref=${frame} src=${address} sandbox="allow-scripts" title=${title} onLoad=${connect}></iframe>`}
function Visual({draft,known,unsubscribe=!1}){let port=lib_core$useRef(null),last=lib_core$useRef({}),[ready,setReady]=lib_core$useState(!1),[failed,fail]=lib_core$useState(
null),brand=api$useGet("/team/brand"),liquid=draft.value.syntax==="liquid",saved=api$useList(liquid?"/blocks":null,{},{limit:100}).rows;last.current={draft,known,
brand:brand.data,saved};let offered2=name=>unsubscribe?name.startsWith("contact."):!builtIn.includes(name),about=()=>({known:last.current.known.filter(({name})=>offered2(
name)),saved:last.current.saved.map(({name})=>name),dark:isDark()}),say=message=>port.current?.postMessage(message),begin=()=>{let{value,language:written}=last.
current.draft;say({kind:"open",...about(),written,design:value.design,fresh:!value.html?.includes('role="presentation"'),kit:brand_colors$kitOf(last.current.brand),
words:{...i18n$find("visual.words"),ops:i18n$find("conditions.ops"),types:i18n$find("visual.types")},language:i18n$language.value,mailLanguage:written||i18n$language.
value,unsubscribe,liquid})},hear=data=>{let{draft:now}=last.current;if(data.kind==="ready"&&setReady(!0),data.kind==="changed"){let of=now.within(data.written);
of.value.design&&(data.design!==of.value.design||data.html!==of.value.html)&&of.change({design:data.design,html:data.html})}data.kind==="save"&&now.save(),data.
kind==="failed"&&fail(new api$ApiError(0,{message:i18n$t("visual.failedText")},"")),data.kind==="upload"&&upload(data.file).then(image=>say({kind:"uploaded",id:data.
id,image:image&&embedded(image)})),data.kind==="saveBlock"&&saveBlock(data.html).then(made=>made&&say({kind:"blockSaved",from:data.from,to:data.to,name:made.name})),
data.kind==="pick"&&pickImage().then(image=>image&&say({kind:"picked",at:data.at,image:embedded(image)})),data.kind==="described"&&describe(data.src,data.alt),data.
kind==="look"&&lookAt(data.src).then(shown3=>shown3&&say({kind:"shown",src:data.src,shown:shown3}))},there=ready&&!!brand.data;return lib_core$useEffect(()=>{there&&
begin()},[draft.stamp,draft.language,liquid,there,JSON.stringify(brand.data)]),lib_core$useEffect(()=>{let tell=()=>say({kind:"know",...about()});there&&tell();
let system=matchMedia("(prefers-color-scheme: dark)");system.addEventListener("change",tell);let eye=new MutationObserver(tell);return eye.observe(document.documentElement,
{attributeFilter:["data-theme"]}),()=>{system.removeEventListener("change",tell),eye.disconnect()}},[known,saved,there]),brand.error&&!brand.data?lib_core$html`<${ui_base$Failed} error=${brand.
error} retry=${brand.reload} />`:failed?lib_core$html`<${ui_base$Failed} title=${i18n$t("visual.failed")} error=${failed} retry=${()=>location.reload()} />`:lib_core$html`${!there&&
lib_core$html`<${ui_base$Bones} rows=${12} />`}<${Frame} port=${port} hear=${hear} hidden=${!there} />`}var pause2=400,looksLikeMJML=text=>/^\s*<mjml[\s>]/i.test(text);function placed(errors,text){let lines=text.split(`
`);return errors.map(({line:line2,message})=>{let at=Math.min(Math.max(1,line2??1),lines.length),from=lines.slice(0,at-1).reduce((sum,one)=>sum+one.length+1,0);
return{from,to:from+lines[at-1].length,line:at,message:i18n$t("mjml.error",{line:at,message})}})}function MJML({draft,completions,known}){let{value}=draft,{source}=JSON.
parse(value.design),port=lib_core$useRef(null),editor=lib_core$useRef(null),input=lib_core$useRef(null),timer=lib_core$useRef(0),last=lib_core$useRef({});last.current=
draft;let[wrong,say]=lib_core$useState({of:"",errors:[]}),make=text=>port.current?.postMessage({kind:"mjml",source:text,written:last.current.language}),hear=data=>{
data.kind==="ready"&&!/class="[^"]*mj-(column|outlook)/.test(last.current.value.html??"")&&make(source),data.kind==="mjml"&&(say({of:data.source,errors:data.errors}),
data.html&&last.current.within(data.written).change({design:starters$mjmlDesign(data.source),html:data.html}))},change=text=>{last.current.change({design:starters$mjmlDesign(
text)}),clearTimeout(timer.current),timer.current=window.setTimeout(()=>make(text),pause2)};lib_core$useEffect(()=>()=>clearTimeout(timer.current),[]);let find=lib_core$useMemo(
()=>text=>text===wrong.of?placed(wrong.errors,text):[],[wrong]),found=find(source);return lib_core$html`<${CodeEditor} key=${draft.language} kind="html" text=${source} stamp=${`${draft.
stamp} ${draft.language}`} label="MJML" known=${known} completions=${completions} findings=${find} handle=${editor} onChange=${change} />
	<div class="vars"><span class="grow">${found.length?lib_core$html`<span class="bad row"><${ui_base$Icon} name="alert" /><span>${found[0].message}</span></span>`:
i18n$t("mjml.text")}</span>
		${found.length>0&&lib_core$html`<${ui_base$Button} onClick=${()=>editor.current?.goTo(found[0].line,1)}>${i18n$t("editor.goTo",{line:found[0].line})}<//>`}
		<${ui_base$Button} icon="attach" onClick=${()=>input.current.click()}>${i18n$t("mjml.upload")}<//>
		<input class="vh" type="file" tabindex="-1" accept=".mjml,text/plain" aria-label=${i18n$t("mjml.upload")} ref=${input} onChange=${async e=>{let[file]=e.currentTarget.
files;if(e.currentTarget.value="",!file)return;let text=await file.text();editor.current?.write(text),change(text)}} /></div>
	<div hidden><${Frame} port=${port} hear=${hear} hidden title="MJML" /></div>`}import{ui_frame$Paper}from"./app.js";import{variants$mergedVariants,variants$variantsOf}from"./app.js";function Composer({params}){let{data,error,reload}=api$useGet(paths$encoded`/broadcasts/${params.id}`),path=[[i18n$t("broadcasts.title"),`${router$base}/broadca\
sts`]];return lib_core$useEffect(()=>{data&&data.status!=="draft"&&router$go(paths$encoded`/broadcasts/${params.id}/report`,{replace:!0})},[data?.status]),error&&
!data?lib_core$html`<${ui_base$Head} title=${i18n$t("composer.title")} path=${path} /><${ui_base$Failed} error=${error} retry=${reload} />`:data?data.status!=="\
draft"?null:lib_core$html`<${Draft} key=${data.id} of=${data} path=${path} />`:lib_core$html`<${ui_base$Head} title=${i18n$t("composer.title")} path=${path} /><${ui_base$Bones} />`}
var cleared=["preview_text","html","design","segment_id","topic_id"],translated=["subject","preview_text","html"];function body(changed,value,base){let out={...changed,
..."html"in changed&&value.design?{design:value.design}:{}};out.variants&&(out.variants=variants$variantsOf(out.variants,base.variants,["subject","preview_text",
"html","text","design"]));for(let name of cleared)out[name]===""&&(out[name]=null);for(let name of["from","subject","name"])name in out&&!out[name].trim()&&delete out[name];
return out}function Draft({of,path}){let draft=drafts$useDraft({id:of.id,path:paths$encoded`/broadcasts/${of.id}`,server:of,revision:answer=>answer.revision,body}),
{value}=draft,[chosen,setAt]=lib_core$useState(""),at=value.variants?.[chosen]?chosen:"",mine=inLanguage(draft,at),[side,setSide]=lib_core$useState("preview"),review=async()=>{
await draft.save()&&router$go(paths$encoded`/broadcasts/${of.id}/review`)};return lib_core$useEffect(()=>{let keys=e=>{(e.metaKey||e.ctrlKey)&&e.key.toLowerCase()===
"s"&&(e.preventDefault(),draft.save())};return addEventListener("keydown",keys),()=>removeEventListener("keydown",keys)},[]),lib_core$html`<${ui_base$Head} title=${value.
name} path=${path} note=${lib_core$html`<${drafts$Saved} draft=${draft} />`}>
		<${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[{icon:"globe",name:i18n$t("languages.add"),run:()=>addLanguage(draft,setAt)},{icon:"gauge",name:i18n$t("\
composer.checks"),run:()=>setSide("checks")},{icon:"history",name:i18n$t("composer.versions"),run:()=>setSide("versions")}]} />
		<${ui_base$Button} icon="mail" onClick=${async()=>await draft.save()&&testMail(paths$encoded`/broadcasts/${of.id}/test`,at)}>${i18n$t("composer.test")}<//>
		<${ui_base$Button} kind="primary" onClick=${review}>${i18n$t("composer.review")}<//><//>
	<${drafts$Left} draft=${draft} />
	<${Languages} draft=${draft} at=${at} names=${translated} onChange=${setAt} />
	<${Meta} draft=${draft} mine=${mine} />
	<div class="bench"><${Writing} draft=${mine} whole=${draft} setAt=${setAt} onVersions=${()=>setSide(side==="versions"?"preview":"versions")} side=${side} />
	${side==="preview"?lib_core$html`<${Reading} draft=${draft} at=${at} />`:side==="checks"?lib_core$html`<${Checks} draft=${draft} close=${()=>setSide("preview")} />`:
lib_core$html`<${Versions} draft=${draft} fields=${["subject","preview_text","html","text"]} close=${()=>setSide("preview")} />`}</div>`}function Meta({draft,mine}){
let{value}=mine,varies=name=>mine.language&&translated.includes(name),line2=(name,{needed=!1,hint="",note=""})=>lib_core$html`<dt><label for=${`c-${name}`}>${i18n$t(
`composer.${name}`)}</label></dt><dd><input class="input" id=${`c-${name}`} value=${value[name]??""} aria-invalid=${needed&&!varies(name)&&!value[name]?.trim()?
"true":void 0} onInput=${e=>mine.change({[name]:e.currentTarget.value||(varies(name)?null:"")})} placeholder=${varies(name)?draft.value[name]:hint} />
		${needed&&!varies(name)&&!value[name]?.trim()?lib_core$html`<span class="note bad" role="alert">${i18n$t("composer.needed")}</span>`:note&&lib_core$html`<span class="note hide-s">${note}</span>`}</dd>`;
return lib_core$html`<dl class="meta">${line2("name",{needed:!0})}${line2("from",{needed:!0})}
	${line2("subject",{needed:!0,note:i18n$t("composer.characters",{n:[...value.subject??""].length})})}${line2("preview_text",{hint:i18n$t("composer.previewHint")})}
	<dt>${i18n$t("composer.audience")}</dt><dd><${Audience} draft=${draft} /></dd>
	<dt>${i18n$t("email.tabs.attachments")}</dt><dd><${Files} draft=${draft} /></dd></dl>`}function Audience({draft}){let{value}=draft,segments=api$useList("/segme\
nts",{},{limit:100}),topics=api$useList("/topics",{},{limit:100}),segment=api$useGet(value.segment_id?paths$encoded`/segments/${value.segment_id}`:null).data,reached=ui_audience$useCount(
value.segment_id?{segment_id:value.segment_id,topic_id:value.topic_id||void 0}:{filter:{match:"all",conditions:[]},topic_id:value.topic_id||void 0}),options=(list,id,first)=>[
["",first],...list.rows.map(row=>[row.id,row.name]),...id&&!list.rows.some(row=>row.id===id)?[[id,segment?.id===id?segment.name:"…"]]:[]];return lib_core$html`<span class="row row--wrap"><${ui_base$Select} bare label=${i18n$t(
"composer.segment")} value=${value.segment_id??""} onChange=${id=>draft.change({segment_id:id})} options=${options(segments,value.segment_id,i18n$t("composer.ev\
erybody"))} />
	<${ui_base$Select} bare label=${i18n$t("composer.topic")} value=${value.topic_id??""} onChange=${id=>draft.change({topic_id:id})} options=${options(topics,value.
topic_id,i18n$t("composer.noTopic"))} />
	${reached&&lib_core$html`<span class=${reached.count?"muted":"warn"}>${i18n$t("composer.people",{n:reached.count})}</span>`}</span>`}var viewKey="VIEW_URL";function useKnown(){
let{rows}=api$useList("/contact-properties",{},{limit:100});return lib_core$useMemo(()=>({names:[...builtIn,viewKey,...rows.flatMap(p=>[p.key,`contact.${p.key}`])],
known:[...[...builtIn,viewKey].map(name=>({name,type:"string"})),...rows.map(p=>({name:`contact.${p.key}`,type:p.type,detail:p.fallback_value===null?"":i18n$t("\
editor.else",{text:p.fallback_value})}))],fallbacks:Object.fromEntries(rows.flatMap(p=>[[p.key,p.fallback_value],[`contact.${p.key}`,p.fallback_value]]))}),[rows])}
function Writing({draft,whole,setAt,onVersions,side}){let{value}=draft,[chosen,setPart]=lib_core$useState(null),part2=partOf(value,chosen),editor=lib_core$useRef(
null),{names,known,fallbacks}=useKnown();return lib_core$html`<section aria-label=${part2==="visual"?i18n$t("visual.title"):i18n$t(`composer.${part2}`)}><div class="bench-head"><${ui_base$Seg} label=${i18n$t(
"composer.part")} value=${part2} onChange=${setPart} options=${parts2(value)} />${part2==="html"&&lib_core$html`<${InsertImage} editor=${editor} />`}
		<${ui_base$Button} kind="quiet" icon="history" class="push" aria-pressed=${String(side==="versions")} onClick=${onVersions}>${i18n$t("composer.versions")}<//></div>
	<${Part} draft=${draft} part=${part2} setPart=${setPart} editor=${editor} known=${known} liquid=${known.filter(({name})=>name.startsWith("contact."))} names=${names} unsubscribe />
	<${Refused} draft=${whole} at=${draft.language} part=${part2} editor=${editor} show=${place2=>{setAt(place2.language),setPart(place2.field==="text"?"text":"htm\
l")}} />
	<${Weight} value=${value} /><${Convert} draft=${whole} />
	${part2==="text"&&value.text===null?null:lib_core$html`<${Variables} texts=${[value.subject,value.preview_text,value.html,value.text]} fallbacks=${fallbacks} segment=${value.
segment_id} liquid=${value.syntax==="liquid"} />`}</section>`}function Part({draft,part:part2,setPart,editor,known,liquid,names,kind="property",mended=!1,unsubscribe=!1}){
let{value,language}=draft,text=value[part2]??"",find=lib_core$useMemo(()=>now=>findings(now,names,kind),[names]),mend=lib_core$useMemo(()=>now=>find(now).filter(
f=>!mended||f.fix||f.broken),[find]),isLiquid=value.syntax==="liquid",refused=draft.refused?.place?.field===part2&&draft.refused.place.language===language?draft.
refused:null;return part2==="visual"?isMJML(value.design)?lib_core$html`<${MJML} draft=${draft} known=${known} completions=${isLiquid?liquid:[]} />`:lib_core$html`<${Visual} draft=${draft} known=${isLiquid?
liquid:known} unsubscribe=${unsubscribe} />`:part2==="text"&&value.text===null?lib_core$html`<div class="empty"><${ui_base$Icon} name="list" /><h3>${i18n$t(language?
"languages.textMade":"composer.textMade")}</h3><p>${i18n$t("composer.textMadeText")}</p><div class="row"><${ui_base$Button} icon="edit" onClick=${()=>draft.change(
{text:""})}>${i18n$t("composer.textOwn")}<//></div></div>`:lib_core$html`<${CodeEditor} key=${`${part2} ${language}`} kind=${part2} text=${text} stamp=${draft.stamp} label=${i18n$t(
`composer.${part2}`)} known=${known} completions=${isLiquid?liquid:[]} findings=${find} refused=${refused} handle=${editor} onImages=${part2==="html"?files=>insertFiles(
editor.current,files):void 0} onChange=${now=>part2==="html"?byHand(draft,now,()=>setPart("visual")):draft.change({text:now})} />
	${part2==="html"&&lib_core$html`<${Warning} value=${value} />`}
	${part2==="html"&&looksLikeMJML(text)&&lib_core$html`<div class="vars"><span>${i18n$t("mjml.found")}</span><${ui_base$Button} class="push" onClick=${()=>{draft.
change({design:starters$mjmlDesign(text),html:text}),setPart("visual")}}>${i18n$t("mjml.convert")}<//></div>`}
	${part2==="text"&&lib_core$html`<div class="vars"><span>${i18n$t("composer.textIs")}</span><${ui_base$Button} class="push" onClick=${()=>draft.change({text:null})}>${i18n$t(
"composer.textRemake")}<//></div>`}
	<${Lint} text=${text} find=${mend} editor=${editor} />`}function Refused({draft,at,part:part2,editor,show}){let{refused}=draft;if(!refused)return null;let{place:place2}=refused;
return lib_core$html`<${Refusal} of=${refused} editor=${editor} here=${place2?.language===at&&place2.field===part2} show=${["html","text"].includes(place2?.field)?
()=>show(place2):void 0} />`}function Lint({text,find,editor}){let wrong=lib_core$useMemo(()=>find(text.replace(/\r\n?/g,`
`)),[text,find]),first=wrong[0];return first?lib_core$html`<div class="vars"><span class="warn row"><${ui_base$Icon} name="alert" /><span>${first.message}${wrong.
length>1?` ${i18n$t("editor.others",{n:wrong.length-1})}`:""}</span></span>${first.fix&&lib_core$html`<${ui_base$Button} class="push" onClick=${()=>editor.current?.
replace(first.from,first.to,first.fix)}>${i18n$t("editor.replace")}<//>`}</div>`:null}function Reading({draft,at}){let{value}=draft,[contact,setContact]=lib_core$useState(
""),[answer,setAnswer]=lib_core$useState(null),{rows}=api$useList(value.segment_id?paths$encoded`/segments/${value.segment_id}/contacts`:"/contacts",{},{limit:20}),
shown3=at||(!contact&&languagesOf(value).length?"und":""),names=rows.map(c=>[c.id,ui_audience$nameOf(c)?`${ui_audience$nameOf(c)} <${c.email}>`:c.email]);return lib_core$html`<${ui_frame$Paper} bench of=${paths$encoded`/broadcasts/${value.
id}/preview`} body=${{...contact?{contact}:{},...shown3?{language:shown3}:{}}} stamp=${`${contact} ${shown3} ${draft.saved}`} onAnswer=${setAnswer}
		lead=${lib_core$html`<span class="muted hide-s">${i18n$t("composer.as")}</span><${ui_base$Select} bare label=${i18n$t("composer.previewAs")} value=${contact} onChange=${setContact} options=${[
["",at?i18n$t("languages.somebody",{language:languageName(at)}):i18n$t("composer.somebody")],...names]} />`} foot=${lib_core$html`${answer?.language&&!at&&lib_core$html`<div class="vars"><span>${i18n$t(
"languages.shown",{language:languageName(answer.language)})}</span></div>`}${answer?.missing?.length?lib_core$html`<div class="vars"><span class="warn row"><${ui_base$Icon} name="alert" /><span>${i18n$t(
"composer.missing",{n:answer.missing.length,names:answer.missing.join(", ")})}</span></span></div>`:null}`} />`}var consent={status:["contactstatus","durum","estado","etat","stan","state","stato","status","statut","subscribertype","toestand","type","zustand","состояние",
"статус","상태","ステータス","状态","状態","狀態"],statusStems:["estado","etat","stan","state","stato","status","statut","zustand","\
статус","ステータス","状态","状態","狀態"],loose:["abonnement","abonnent","actief","actif","active","activesubscription","activo","aktiv","akty\
wny","ativo","attivo","bestatigt","bevestigd","biuletyn","boletim","boletin","bollettino","confermato","confirmado","confirme","confirmed","emailactive","emailc\
onfirmed","emailmarketing","emailsubscription","emailupdates","emailverified","enabled","infolettre","inschrijving","inscricao","isactive","isconfirmed","iscriz\
ione","isenabled","isverified","lettredinformation","mailing","mailinglist","mailings","marketing","marketingemail","marketingemails","newsletter","newsletters",
"nieuwsbrief","nieuwsbrieven","opt","potwierdzony","promotionalemails","promotions","subscribe","subscription","subscriptions","subskrypcja","suscripcion","veri\
fied","рассылка","ニュースレター","メルマカ","メールマカシン","有効","通讯","邮件订阅","電子報"],ended:["archived","baja","\
banned","blocked","canceled","cancelled","deleted","disabled","excluded","inactive","invalid","isblocked","isdeleted","isdisabled","isinactive","junk","removed",
"spam"],other:["agent","anzahl","billing","bron","call","calls","campaign","campaigns","category","count","country","fax","fonte","form","fuente","gmt","href","\
id","interest","interests","ip","link","list","lista","listas","liste","listen","lists","method","mms","mobile","name","number","order","orders","page","payment",
"phone","plan","plans","postal","price","process","product","provider","push","quelle","rate","referer","referrer","score","segment","segments","shipping","sku",
"sms","soft","source","stripe","tag","tags","telefon","text","texte","tier","title","total","track","tracking","uid","url","user","uuid","version","whats","what\
sapp"],blackLists:["czarnalista","listanegra","listanera","listenoire","zwartelijst"],mail:["abonnent","contact","contacts","correo","correos","courriel","e","e\
mail","emails","inscricao","iscrizione","mail","mailing","mails","marketing","news","newsletter","newsletters","nieuwsbrief","posta","send","subscriber","subscr\
iption","subscriptions","suscripcion","werbung","メール","邮件","郵件"],refusal:["abbestell","abgemeldet","abmeld","abonelikten","afgemeld","afmeld","ann\
ullaiscri","ausgetragen","austrag","avmeldt","avprenumer","avregistrer","blacklist","bloccat","blocklist","bloquead","cancellatodalla","cancelouassin","cancelou\
inscri","cofniet","czarnalist","dadadebaja","dadodebaja","debaja","denylist","desabonn","descadastr","desinscrev","desinscri","desinscrip","desuscri","desuscrit\
o","disabledemail","disdett","disiscri","donotcontact","donotemail","donotmail","donotmarket","donotsend","dontcontact","dontemail","emaildisabled","emailoff","\
fechabaja","fechadebaja","geblokkeerd","gesperrt","globalunsub","keinewerbung","listanegra","listanera","listenoire","mailoff","mailsperre","naocontactar","naoc\
ontatar","naoenviar","nepascontacter","nepasenvoyer","niekontaktow","nietbenaderen","nietcontacteren","nietmailen","niewysyla","nocontactar","noenviar","noncont\
attare","noninviare","odhlasen","opposition","optdout","optedoff","optedout","optingout","optout","optsout","resili","rezygn","sedesinscrire","sprzeciw","stopma\
il","stopstatus","stoptime","suppress","uitgeschreven","uitschrij","unsub","werbesperre","widerruf","widerspr","wypisal","wypisan","zablokowan","zwartelijst","в\
ідписа","отписа","отписан","черныисписок","구독취소","수신거부","オフトアウト","取消訂閱",
"取消订阅","受信拒否","屏蔽","拒收","登録解除","解除","購読停止","購読解除","退会","退訂","退订","送信不可","配信不可","\
配信停止","配信拒否","黑名单","黑名單"],bounce:["bounce","cleaned","devolvid","emailinvalid","hardbounce","invalidaddress","invalidemail","niedost\
arcz","onbestelbaar","rebond","rebotad","rebote","rimbalz","undeliver","unzustellbar","недостав","반송","無効アトレス","退信","配信不\
能"],complaint:["abuse","beschwer","complain","complaint","denuncia","junk","klacht","plainte","queja","reclamo","skarg","spam","жалоб","举报","投訴",
"投诉","苦情","迷惑"],pending:["aguardando","ausstehend","awaiting","enattente","inafwachting","inattesa","inattivabile","invited","naoconfirm","nichtbest\
atigt","niepotwierdz","nietbevestigd","noconfirmad","nonconfermat","nonconfirm","notconfirm","notverif","notyet","oczekuj","onbevestigd","pendente","pendiente",
"pending","sinconfirmar","unactivated","unbestatigt","unconfirm","unverif","validating","waitingfor","wartend","неподтвер","ожида","仮登録","保留",
"待定","待确认","待確認","未承認","未确认","未確認","未認証"],agreement:["aangemeld","abonne","abonniert","acceptelanews","accepteles","acce\
ptemail","acceptmarketing","acceptsemail","acceptsmarketing","acceptsnewsletter","accett","aceita","aceito","acepta","agreedto","agreesto","akkoord","allowemail",
"allowmarketing","allowsmarketing","angemeldet","autoris","autoriz","autoriza","autorizz","cancontact","canemail","consenso","consent","consentement","consentim\
ento","consentimiento","dsgvo","eingewilligt","einverstanden","einwillig","emailallowed","emailok","erlaubnis","gdpr","geabonneerd","getsemail","ingeschreven","\
inscrev","inscription","inscrit","iscritt","izin","mailable","marketable","marketingallowed","maycontact","mayemail","oktocontact","oktoemail","oktomail","onay",
"optedin","optin","optsin","permission","prenumer","receiveemail","receivemarketing","receivenewsletter","receivesemail","receivesnewsletter","rgpd","samtycke",
"souhlas","subscribed","subskryb","suscript","suscrit","toestemming","wantsemail","wantsnewsletter","werbeerlaubnis","zapisan","zgod","zgoda","zugestimmt","zust\
immung","згод","подписан","согласи","구독","동의","オフトイン","受信許可","同意","承諾","授权","訂閱",
"許可","订阅","许可","購読","配信許可"],negations:["aucun","bez","brak","didnt","doesnt","dont","geen","hayir","isnt","jamais","kein","keine","keine\
n","keiner","mai","nao","ne","never","nicht","nie","niemals","niet","ningun","no","non","nooit","not","nunca","ohne","pas","sans","sem","senza","sin","without",
"wont","zonder","не","нет"],glued:["bez","geen","kein","keine","nao","never","nicht","nie","niet","nieza","no","non","not","pas","без"],noMail:["geenmai\
l","keinemail","keinnewsletter","nocontact","noemail","nomail","nomarketing","nonewsletter"]};var services=[["mailchimp","Mailchimp"],["brevo","Brevo"],["sendgrid","SendGrid"],["postmark","Postmark"],["hubspot","HubSpot"],["mailerlite","MailerLite"],["re\
send","Resend"],["listmonk","listmonk"]],marks=[["mailchimp","memberrating leid"],["mailchimp","optintime leid"],["mailchimp","confirmtime leid"],["mailchimp","\
leid euid"],["mailchimp","memberrating optintime"],["brevo","email emailblacklisted"],["brevo","email addedtime modifiedtime"],["brevo","contactid email sms"],[
"sendgrid","email alternateemails contactid"],["sendgrid","email stateprovinceregion contactid"],["sendgrid","status reason email created"],["postmark","emailad\
dress suppressionreason"],["hubspot","recordid email contactowner"],["hubspot","recordid email leadstatus"],["hubspot","recordid email createdate"],["hubspot","\
recordid email lifecyclestage"],["hubspot","recordid email marketingcontactstatus"],["hubspot","email unsubscribedfromallemail"],["hubspot","email portalunsubsc\
ribe"],["mailerlite","subscriber opens clicks"],["mailerlite","subscriber subscribed"],["mailerlite","subscriber status"],["mailerlite","subscriber groups"],["m\
ailerlite","email subscribed groups"],["mailerlite","email subscribed opens clicks"],["resend","id email firstname lastname unsubscribed createdat"],["listmonk",
"uuid email name attributes status"]],plain=heading=>heading.toLowerCase().replace(/[\s_-]/g,""),meanings={email:"email",emailaddress:"email",emailadresse:"emai\
l",adresseemail:"email",courriel:"email",correoelectrónico:"email",correoelectronico:"email",mail:"email",firstname:"first_name",givenname:"first_name",fname:"\
first_name",vorname:"first_name",prénom:"first_name",prenom:"first_name",nombre:"first_name",nome:"first_name",lastname:"last_name",surname:"last_name",familyname:"\
last_name",lname:"last_name",nachname:"last_name",nom:"last_name",apellido:"last_name",apellidos:"last_name",cognome:"last_name",unsubscribed:"unsubscribed"},fold=s=>s.
toLowerCase().replaceAll("ß","ss").normalize("NFKD").replaceAll("ł","l").replaceAll("ø","o").replaceAll("ı","i").replace(/[^\p{L}\p{Nd}]/gu,""),wordsOf=s=>s.
replace(/['’]/g,"").replace(/(\p{Ll})(?=\p{Lu})/gu,"$1 ").split(/[^\p{L}\p{M}\p{Nd}]+/u).map(fold).filter(Boolean);function consentOf(heading){let words2=wordsOf(
heading),folded=words2.join(""),is=list=>list.includes(folded)||list.includes(folded.replace(/^is/,"")),has=list=>list.some(stem=>folded.includes(stem)),some=list=>words2.
some(word=>list.includes(word));if(!folded||heading.includes("@"))return"";if(consent.status.includes(folded))return"consentStatus";if(is(consent.loose))return"\
consentAgreed";if(is(consent.ended))return"consentRefused";if(some(consent.other)&&!has(consent.blackLists))return"";let bounced=has(consent.bounce)||has(consent.
complaint),refused=has(consent.refusal)||!bounced&&(has(consent.pending)||some(consent.negations)&&some(consent.mail)),agreed=has(consent.agreement)||some(["acc\
epts","allow","allows","wants"])&&some(consent.mail);return has(consent.statusStems)&&(refused||agreed||some(consent.mail))&&(refused||!bounced)?"consentStatus":
!refused&&bounced?"consentBounced":refused||is(consent.noMail)?"consentRefused":agreed?some(consent.negations)||has(consent.agreement.flatMap(stem=>consent.glued.
map(no=>no+stem)))?"consentRefused":"consentAgreed":""}function rowsOf(text,comma,most5){let rows=[],row=[],cell="",quoted=!1;for(let i=0;i<text.length&&rows.length<
most5;i++){let c=text[i];quoted?c!=='"'?cell+=c:text[i+1]==='"'?(cell+=c,i++):quoted=!1:c==='"'&&!cell?quoted=!0:c===comma||c===`
`?(row.push(cell.trim()),cell="",c===`
`&&(row.some(Boolean)&&rows.push(row),row=[])):c!=="\r"&&(cell+=c)}return rows.length<most5&&(cell||row.length)&&rows.push([...row,cell.trim()]),rows}async function countRows(file){
let lead=new Uint8Array(await file.slice(0,65536).arrayBuffer()),reader=file.stream().pipeThrough(new TextDecoderStream(encodingOf(lead))).getReader(),rows=0,quoted=!1,
blank=!0,first="";for(;;){let{done,value}=await reader.read();if(done)break;first.length<8&&(first+=value.slice(0,8));for(let i=0;i<value.length;i++){let c=value.
charCodeAt(i);c===34&&(quoted=!quoted),c===10&&!quoted?(blank||rows++,blank=!0):c>32&&(blank=!1)}}return blank||rows++,Math.max(0,rows-(/^[\r\n]*sep=/i.test(first)?
2:1))}var keyOf=heading=>heading.trim().replace(/[^A-Za-z0-9]/g,"_").slice(0,50);function byZeros(bytes){let start=bytes.subarray(0,256),zeros=[0,0],units=start.
length>>1;for(let i=0;i<units*2;i++)start[i]||zeros[i%2]++;return units<2?"":zeros[1]*2>=units&&zeros[0]*4<=zeros[1]?"utf-16le":zeros[0]*2>=units&&zeros[1]*4<=zeros[0]?
"utf-16be":""}function encodingOf(bytes){let begins=(...lead)=>lead.every((byte,i)=>bytes[i]===byte);if(begins(255,254))return"utf-16le";if(begins(254,255))return"\
utf-16be";let at=bytes.findIndex(byte=>byte>127);if(byZeros(bytes)||at<0)return byZeros(bytes)||"utf-8";try{return new TextDecoder("utf-8",{fatal:!0}).decode(bytes.
subarray(at,at+(bytes[at]>=240?4:bytes[at]>=224?3:2))),"utf-8"}catch{return"windows-1252"}}async function textOf(file){let bytes=new Uint8Array(await file.arrayBuffer());
return new TextDecoder(encodingOf(bytes)).decode(bytes)}function separatorOf(text){let named2=/^[\r\n]*sep=([,;\t|])/i.exec(text);if(named2)return named2[1];let line2=text.
replace(/^[\r\n]+/,"").replace(/"[^"]*"/g,"").split(`
`,1)[0];return[",",";","	"].reduce((best,c)=>line2.split(c).length>line2.split(best).length?c:best)}async function headOf(file){let lead=new Uint8Array(await file.
slice(0,2).arrayBuffer()).join();if(lead==="80,75"||lead==="31,139")return{packed:!0,headings:[],rows:[],preset:"",dump:!1,map:[]};let text=await textOf(file.slice(
0,65536)),all=rowsOf(text,separatorOf(text),7),[headings=[],...rows]=(all[0]?.[0]??"").toLowerCase()==="sep="?all.slice(1):all.slice(0,6),names=headings.map(plain),
preset=marks.find(([,all2])=>all2.split(" ").every(mark=>names.includes(mark)))?.[0]??"",taken=new Set,map=names.map((name,i)=>{let meaning=meanings[name]??"";return meaning&&
!taken.has(meaning)?(taken.add(meaning),meaning):meaning||!/[A-Za-z0-9]/.test(name)||headings[i].includes("@")?"":"property"});return{packed:!1,headings,rows,preset,
dump:["status","reason","email","created"].every(name=>names.includes(name)),map}}var HealthSections=({at})=>lib_core$html`<${ui_base$Sections} label=${i18n$t("health.sections")} at=${`${router$base}/operator/${at}`} links=${["health","backup\
s","settings","disk"].map(name=>[i18n$t(`health.${name==="health"?"title":name}`),`${router$base}/operator/${name}`])} />`;function Health(){let checks=api$useGet(
"/health/checks",void 0,{team:null}),status=api$useGet("/status",void 0,{team:null,every:15,live:e=>e.name==="queue"||e.name==="relay"}),run=()=>ui_float$attempt(
async()=>checks.set(await api$api.post("/health/checks",void 0,{team:null})));return lib_core$html`<${ui_base$Head} title=${i18n$t("health.title")} note=${checks.
data&&lib_core$html`<span class="muted t12">${i18n$say("health.ran",{when:lib_core$html`<${ui_base$Time} at=${checks.data.checked_at} as="clock" />`})}</span>`}><${ui_base$Button} kind="primary" icon="refresh" onClick=${run}>${i18n$t(
"health.run")}<//><//><${HealthSections} at="health" />
	${checks.error&&!checks.data?lib_core$html`<${ui_base$Failed} error=${checks.error} retry=${checks.reload} />`:checks.data?lib_core$html`<${Found} checks=${checks.
data.checks} status=${status.data} />`:lib_core$html`<${ui_base$Bones} rows=${6} />`}`}function Found({checks,status}){let good=checks.filter(c=>c.ok),found=status?.
needs??checks.filter(c=>c.finding).map(c=>c.finding),n=found.length;return lib_core$html`<div class="health-verdict"><${ui_base$Verdict} kind=${n?found.some(f=>f.
severity==="error")?"bad":"warn":"good"} icon=${n?"alert":void 0} line=${n?i18n$t("health.needs",{n}):i18n$t("health.fine")} fix=${n?i18n$t("health.passed",{n:good.
length}):i18n$t("health.fineFix",{n:good.length})} /></div>
	<div class="page">${n>0&&lib_core$html`<${ui_base$Section} title=${i18n$t("health.bad")}><ul class="items items--top">${found.map(f=>lib_core$html`<${Finding} key=${f.
id+f.subject} of=${f} />`)}</ul><//>`}
	${status&&lib_core$html`<${ui_base$Section} title=${i18n$t("health.figures")}><${Figures} status=${status} /><//>`}
	<${ui_base$Section} title=${i18n$t("health.passed",{n:good.length})}><table class="table table--fixed stack-s"><colgroup><col class="w-to" /><col /></colgroup><thead class="vh"><tr><th scope="col">${i18n$t(
"health.check")}</th><th scope="col">${i18n$t("health.found")}</th></tr></thead><tbody>${good.map(c=>lib_core$html`<tr key=${c.name}><td data-label=${i18n$t("he\
alth.check")}><${ui_base$Status} of="ok" word=${c.name} /></td><td data-label=${i18n$t("health.found")} class="break muted">${c.found}</td></tr>`)}</tbody></table><//></div>`}
var shown=params=>({...Object.fromEntries(Object.entries(params).map(([name,value])=>[name,/^\d{4}-\d\d-\d\dT/.test(value)?format$clock(value):value])),...params.
state&&{state:i18n$t(`status.${params.status}`)}});function Finding({of:f}){let params=shown(f.params);return lib_core$html`<li><${ui_base$Icon} name="alert" class=${f.
severity==="error"?"bad":"warn"} /><div class="grow stack stack--2"><h3 class="break"><span class="vh">${i18n$t(`findings.${f.severity}`)}: </span>${i18n$t(`fin\
dings.${f.id}.what`,params)}</h3><p class="ink2 break">${i18n$t(`findings.${f.id}.fix`,params)}${params.note&&lib_core$html` ${i18n$t(`findings.${params.note}`)}`}</p>${f.
command&&lib_core$html`<div class="fix"><span class="mono break">${f.command}</span><${ui_base$CopyButton} text=${f.command} /></div>`}</div>${f.page&&lib_core$html`<${ui_base$Button} href=${router$base+
f.page}>${i18n$t("findings.open")}<//>`}</li>`}function Figures({status}){let{queue,database,backup}=status;return lib_core$html`<${ui_base$Facts} pairs=${[[i18n$t(
"health.waiting"),lib_core$html`<a class="link" href=${`${router$base}/queue`}>${i18n$t("health.emails",{n:queue.waiting})}</a>`],[i18n$t("health.oldest"),queue.
oldest&&format$duration((Date.now()-new Date(queue.oldest).getTime())/1e3)],[i18n$t("health.database"),lib_core$html`<a class="link" href=${`${router$base}/oper\
ator/disk`}>${format$size(database.bytes)}</a>`],[i18n$t("health.wal"),format$size(database.wal_bytes)],[i18n$t("health.free"),format$size(database.disk_free)],
[i18n$t("health.backup"),lib_core$html`<a class="link" href=${`${router$base}/operator/backups`}>${backup.last?lib_core$html`<${ui_base$Time} at=${backup.last} as="clock" />`:
i18n$t("health.none")}</a>`],[i18n$t("health.version"),lib_core$html`<span class="mono">${status.version}</span>`]]} />`}import{contact_acts$addContact,contact_acts$editContact,contact_acts$removeContacts,contact_acts$segmentChoice,contact_acts$toSegment}from"./app.js";var most4=2e8;function Mapping({file,close}){let[head,setHead]=lib_core$useState(null),[map,setMap]=lib_core$useState([]),[keys,setKeys]=lib_core$useState([]),[
types,setTypes]=lib_core$useState([]),declared=api$useGet("/contact-properties",{limit:100}).data?.data??[],[preset,setPreset]=lib_core$useState(""),[conflict,setConflict]=lib_core$useState(
"upsert"),[segment,setSegment]=lib_core$useState(""),[refused,setRefused]=lib_core$useState(""),[rows,setRows]=lib_core$useState(-1),segments=api$useGet("/segme\
nts",{limit:100}).data?.data??[];if(lib_core$useEffect(()=>{headOf(file).then(found=>{setHead(found),setMap(found.map),setKeys(found.headings.map(keyOf)),setPreset(
found.preset),!found.packed&&file.size<=most4&&countRows(file).then(setRows)})},[file]),!head)return lib_core$html`<${ui_base$Head} title=${i18n$t("imports.new")} path=${[
[i18n$t("imports.title"),router$href("/imports")]]} /><${ui_base$Bones} />`;let byHand2=!preset&&!head.packed,kinds=keys.map((key,i)=>types[i]??declared.find(one=>one.
key===key)?.type??"string"),wrong=file.size>most4?i18n$t("imports.tooLarge",{size:format$size(file.size),most:format$size(most4)}):byHand2?problem(head.headings,
map,keys):"",send=async()=>{let body2=new FormData;byHand2?body2.append("column_map",JSON.stringify(columnMap(head.headings,map,keys,kinds))):preset&&body2.append(
"preset",preset),body2.append("on_conflict",conflict),segment&&body2.append("segments",JSON.stringify([segment])),body2.append("file",file);try{let made=await(await api$request(
"POST","/contacts/imports",{body:body2})).json();ui_float$toast(i18n$t("imports.started")),router$go(paths$encoded`/imports/${made.id}`)}catch(e){if(!(e instanceof
api$ApiError))throw e;setRefused(e.message)}},columns=head.headings.length>0&&lib_core$html`<${Columns} head=${head} map=${byHand2?map:null} setMap=${setMap} keys=${keys} setKeys=${setKeys} kinds=${kinds} setKind=${(i,kind)=>setTypes(
{...types,[i]:kind})} />`;return lib_core$html`<${ui_base$Head} title=${lib_core$html`<bdi>${file.name}</bdi>`} text=${file.name} path=${[[i18n$t("imports.title"),
router$href("/imports")]]}><${ui_base$Button} kind="quiet" onClick=${close}>${i18n$t("ui.cancel")}<//><${ui_base$Button} kind="primary" disabled=${!!wrong} onClick=${send}>${i18n$t(
"imports.start")}<//><//>
	<div class="page"><div class="stack">
		${refused&&lib_core$html`<${ui_base$Notice} kind="bad">${refused}<//>`}
		${wrong&&lib_core$html`<${ui_base$Notice} kind="warn">${wrong}<//>`}
		<p class="muted t13r">${format$size(file.size)} · ${head.packed?"ZIP":i18n$t("imports.columns",{n:head.headings.length})}${rows>=0&&lib_core$html` · <span data-rows=${rows}>${i18n$t(
"imports.rows",{n:rows})}</span>`}</p>
		<${ui_base$Select} label=${i18n$t("imports.from")} value=${preset} options=${[["",i18n$t(head.packed?"imports.byHeadings":"imports.elsewhere")],...services]} onChange=${setPreset} hint=${head.
packed&&i18n$t("imports.packed")} />
		<${Becomes} head=${head} preset=${preset} /></div>
		${byHand2&&columns}
		<${ui_base$Section} title=${i18n$t("imports.how")}><div class="stack"><${ui_base$Select} label=${i18n$t("imports.known")} value=${conflict} options=${["upsert",
"skip"].map(one=>[one,i18n$t(`imports.${one}`)])} onChange=${setConflict} hint=${i18n$t("imports.knownHint")} />
			${segments.length>0&&lib_core$html`<${ui_base$Select} label=${i18n$t("imports.into")} value=${segment} options=${contact_acts$segmentChoice(segments,i18n$t("\
ui.none"))} onChange=${setSegment} />`}</div><//>
		${!byHand2&&columns}</div>`}function Becomes({head,preset}){if(preset==="postmark"||preset==="sendgrid"&&head.dump)return lib_core$html`<${ui_base$Notice}>${i18n$t(
"imports.dump")}<//>`;if(preset||head.packed)return lib_core$html`<${ui_base$Notice}>${i18n$t("imports.preset")}<//>`;let source=services.find(([id])=>id===head.
preset)?.[1];return source&&lib_core$html`<${ui_base$Notice} kind="warn">${i18n$t("imports.sourceNote",{source})}<//>`}var kindChoices=()=>[...["string","number",
"boolean"].map(kind=>[kind,i18n$t(`properties.${kind}`)]),...["number_comma","number_point","date_dmy","date_mdy","date_ymd"].map(kind=>[kind,i18n$t(`imports.${kind}`)])],
Columns=({head,map,setMap,keys,setKeys,kinds,setKind})=>lib_core$html`<${ui_base$Section} title=${i18n$t("imports.map")}><table class="table stack-s" aria-label=${i18n$t(
"imports.map")}><thead><tr><th scope="col">${i18n$t("imports.column")}</th>${map&&lib_core$html`<th scope="col">${i18n$t("imports.becomes")}</th>`}<th scope="col">${i18n$t(
"imports.samples")}</th></tr></thead><tbody>
	${head.headings.map((heading,i)=>lib_core$html`<tr key=${i}><td data-label=${i18n$t("imports.column")}><span class="break">${heading||i18n$t("imports.nameless",
{n:i+1})}</span>${consentOf(heading)&&lib_core$html`<br /><span class="muted t13r">${i18n$t(`imports.${consentOf(heading)}`)}</span>`}</td>
		${map&&lib_core$html`<td data-label=${i18n$t("imports.becomes")}><${ui_base$Select} bare label=${i18n$t("imports.becomesOf",{column:heading||i+1})} value=${map[i]} options=${choices(
heading)} onChange=${to=>setMap(map.map((one,j)=>j===i?to:one))} />${map[i]==="property"&&lib_core$html`<span class="row row--wrap"><input class="input" aria-label=${i18n$t(
"imports.keyOf",{column:heading||i+1})} value=${keys[i]} maxlength="50" spellcheck="false" onInput=${e=>setKeys(keys.map((one,j)=>j===i?e.target.value:one))} /><${ui_base$Select} bare label=${i18n$t(
"imports.typeOf",{column:heading||i+1})} value=${kinds[i]} options=${kindChoices()} onChange=${kind=>setKind(i,kind)} /></span>`}</td>`}
		<td class="cell-cut muted" data-label=${i18n$t("imports.samples")}><bdi>${head.rows.slice(0,3).map(row=>row[i]).filter(Boolean).join(" · ")||"–"}</bdi></td></tr>`)}</tbody></table><//>`,
choices=heading=>[["",i18n$t("imports.leftOut")],["email",i18n$t("contacts.email")],["first_name",i18n$t("contacts.firstName")],["last_name",i18n$t("contacts.la\
stName")],["unsubscribed",i18n$t("contacts.unsubscribed")],.../[A-Za-z0-9]/.test(heading)?[["property",i18n$t("imports.aProperty")]]:[]];function problem(headings,map,names){
if(!map.includes("email"))return i18n$t("imports.noEmail");let twice=["email","first_name","last_name","unsubscribed"].find(field=>map.filter(one=>one===field).
length>1);if(twice)return i18n$t("imports.twice",{field:i18n$t(`conditions.${twice}`)});let keys=names.filter((_,i)=>map[i]==="property"),bad=keys.find(key=>!/^[A-Za-z0-9_]{1,50}$/.
test(key));if(bad!==void 0)return i18n$t("imports.badKey",{key:bad||"–"});let same=keys.find((key,i)=>keys.indexOf(key)!==i);if(same)return i18n$t("imports.tw\
ice",{field:same});let used2=headings.filter((_,i)=>map[i]),again=used2.find((heading,i)=>used2.indexOf(heading)!==i);return again?i18n$t("imports.sameHeading",
{column:again}):""}function columnMap(headings,map,keys,kinds){let out={properties:{}};return headings.forEach((heading,i)=>{map[i]==="property"?out.properties[keys[i]]=
{column:heading,type:kinds[i]}:map[i]&&(out[map[i]]=heading)}),out}var looks={queued:"neutral",in_progress:"neutral",completed:"completed",failed:"bad"},ImportStatus=({of})=>lib_core$html`<${ui_base$Status} of=${looks[of]??"neu\
tral"} word=${i18n$t(`imports.${of}`)} />`;function Imports(){let status=router$place.value.query.get("status")??"",list=api$useList("/contacts/imports",{status},
{live:e=>e.name==="import"}),[file,setFile]=lib_core$useState(null);return file?lib_core$html`<${Mapping} file=${file} close=${()=>setFile(null)} />`:lib_core$html`<${ui_base$Head} title=${i18n$t(
"imports.title")}><${ui_list$Csv} path="/contacts/imports" query=${{status}} name="imports" /><//>
	<${ui_audience$AudienceSections} at="imports" />
	<div class="page"><${Drop} take=${setFile} /></div>
	${(list.rows.length>0||status)&&lib_core$html`<div class="tools"><${ui_base$Select} bare label=${i18n$t("imports.status")} value=${status} options=${[["",i18n$t(
"imports.any")],...Object.keys(looks).map(one=>[one,i18n$t(`imports.${one}`)])]} onChange=${one=>router$setQuery({status:one})} /></div>`}
	<${ui_list$Table} list=${list} label=${i18n$t("imports.title")} open=${row=>router$href(paths$encoded`/imports/${row.id}`)} empty=${lib_core$html`<${ui_base$Empty} ghost=${status?
void 0:[["contacts.csv",lib_core$html`<${ImportStatus} of="completed" />`,format$number(2482)]]} icon="download" title=${i18n$t(status?"imports.noneFound":"impo\
rts.empty")}>${i18n$t("imports.emptyText")}<//>`} columns=${[{name:i18n$t("imports.file"),class:"cell-name cell-cut",cell:row=>lib_core$html`<a class="medium" href=${router$href(
paths$encoded`/imports/${row.id}`)} title=${row.file_name}><bdi>${row.file_name??i18n$t("imports.one")}</bdi></a><span class="cell-sub"><${ImportStatus} of=${row.
status} /> ${i18n$t("imports.totalRows")}: ${format$number(row.counts.total)}</span>`},{name:i18n$t("imports.status"),class:"w-status hide-s",cell:row=>lib_core$html`<${ImportStatus} of=${row.
status} />`},...["total","created","updated","skipped","failed"].map(count=>({name:i18n$t(`imports.${count}Rows`),class:`w-count num ${{total:"hide-s",failed:""}[count]??
"drop-2"}`,cell:row=>lib_core$html`<span class=${count==="failed"&&row.counts.failed?"bad":""}>${format$number(row.counts[count])}</span>`})),{name:i18n$t("impo\
rts.begun"),class:"w-age num muted",cell:row=>lib_core$html`<${ui_base$Time} at=${row.created_at} />`}]} />`}function Drop({take}){let[over,setOver]=lib_core$useState(
!1);return lib_core$html`<label class=${`drop ${over?"is-over":""}`} onDragOver=${e=>{e.preventDefault(),setOver(!0)}} onDragLeave=${()=>setOver(!1)} onDrop=${e=>{
e.preventDefault(),setOver(!1),e.dataTransfer.files[0]&&take(e.dataTransfer.files[0])}}><input class="vh" type="file" accept=".csv,.tsv,.txt,.zip,text/csv,application/zip" onChange=${e=>e.
currentTarget.files[0]&&take(e.currentTarget.files[0])} /><${ui_base$Icon} name="download" /><span><b class="medium">${i18n$t("imports.drop")}</b> <span class="link">${i18n$t(
"imports.choose")}</span></span><span class="muted t12">${i18n$t("imports.dropHint")}</span></label>`}var tongues2=[["curl","curl"],["node","Node"],["go","Go"],["python","Python"],["php","PHP"],["ruby","Ruby"],["java","Java"],["csharp","C#"]];function snippet(tongue,server,from,to){
let mail={from,to:[to],subject:"Hello from Mailer",html:"<p>It works.</p>"},json=JSON.stringify(mail);return{curl:`curl ${server}/emails \\
  -H "Authorization: Bearer $MAILER_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json}'`,node:`// npm install resend
import { Resend } from 'resend'

const resend = new Resend(process.env.MAILER_KEY, { baseUrl: '${server}' })

const { data, error } = await resend.emails.send({
  from: '${from}',
  to: '${to}',
  subject: '${mail.subject}',
  html: '${mail.html}',
})`,go:`// go get github.com/resend/resend-go/v3
client := resend.NewClient(os.Getenv("MAILER_KEY"))
client.BaseURL, _ = url.Parse("${server}/")

sent, err := client.Emails.Send(&resend.SendEmailRequest{
	From:    "${from}",
	To:      []string{"${to}"},
	Subject: "${mail.subject}",
	Html:    "${mail.html}",
})`,python:`# pip install resend
import os, resend

resend.api_key = os.environ["MAILER_KEY"]
resend.api_url = "${server}"

resend.Emails.send({
    "from": "${from}",
    "to": ["${to}"],
    "subject": "${mail.subject}",
    "html": "${mail.html}",
})`,php:`// composer require resend/resend-php
putenv('RESEND_BASE_URL=${server}');
$resend = Resend::client(getenv('MAILER_KEY'));

$resend->emails->send([
    'from' => '${from}',
    'to' => ['${to}'],
    'subject' => '${mail.subject}',
    'html' => '${mail.html}',
]);`,ruby:`# gem install resend, and set RESEND_BASE_URL=${server}/
require "resend"

Resend.api_key = ENV["MAILER_KEY"]

Resend::Emails.send({
  from: "${from}",
  to: ["${to}"],
  subject: "${mail.subject}",
  html: "${mail.html}",
})`,java:`var request = HttpRequest.newBuilder(URI.create("${server}/emails"))
    .header("Authorization", "Bearer " + System.getenv("MAILER_KEY"))
    .header("Content-Type", "application/json")
    .POST(HttpRequest.BodyPublishers.ofString("""
        ${json}
        """))
    .build();
var answer = HttpClient.newHttpClient()
    .send(request, HttpResponse.BodyHandlers.ofString());`,csharp:`using var client = new HttpClient { BaseAddress = new("${server}") };
client.DefaultRequestHeaders.Authorization =
    new("Bearer", Environment.GetEnvironmentVariable("MAILER_KEY"));

var answer = await client.PostAsJsonAsync("/emails", new {
    from = "${from}",
    to = new[] { "${to}" },
    subject = "${mail.subject}",
    html = "${mail.html}",
});`}[tongue]??""}var ranks=["member","admin","owner"],roles=()=>ranks.slice(0,ranks.indexOf(state$membership.value?.role??"member")+1).map(r=>[r,i18n$t(`roles.${r}`)]),ranges=text=>text.
split(/[\s,]+/).filter(Boolean),spans=()=>[["",i18n$t("keys.never")],["7",i18n$t("keys.days",{n:7})],["30",i18n$t("keys.days",{n:30})],["90",i18n$t("keys.days",
{n:90})],["365",i18n$t("keys.days",{n:365})]];async function tried(act,say){try{return await act()}catch(e){if(!(e instanceof api$ApiError))throw e;say(e.message)}}
var Acts=({close,act})=>lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${act}<//>`;
function MakeKey({close,domains}){let[is,set]=lib_core$useState({name:"",permission:"sending_access",domain:"",role:"member",days:"",ips:""}),[wrong,say]=lib_core$useState(
""),put=name=>value=>set(now=>({...now,[name]:value})),sending=is.permission==="sending_access",send=()=>tried(async()=>{let body2={name:is.name.trim(),permission:is.
permission,domain_id:sending&&is.domain?is.domain:void 0,role:sending?void 0:is.role,expires_at:is.days?new Date(Date.now()+Number(is.days)*864e5).toISOString():
void 0,allowed_ips:ranges(is.ips).length?ranges(is.ips):void 0};close({...body2,...await api$api.post("/api-keys",body2)})},say);return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"keys.makeTitle")} onSubmit=${send} acts=${lib_core$html`<${Acts} close=${close} act=${i18n$t("keys.make")} />`}>
		${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<${ui_base$Input} label=${i18n$t("keys.name")} hint=${i18n$t("keys.nameHint")} value=${is.name} onInput=${put("name")} maxlength="50" required autofocus />
		<${ui_base$Select} label=${i18n$t("keys.may")} value=${is.permission} onChange=${put("permission")} options=${[["sending_access",i18n$t("keys.maySend")],["ful\
l_access",i18n$t("keys.mayAll")]]} />
		${sending?lib_core$html`<${ui_base$Select} label=${i18n$t("keys.domain")} value=${is.domain} onChange=${put("domain")} options=${[["",i18n$t("keys.anyDomain")],
...domains.map(d=>[d.id,d.name])]} />`:lib_core$html`<${ui_base$Select} label=${i18n$t("keys.role")} hint=${i18n$t("keys.roleHint")} value=${is.role} onChange=${put(
"role")} options=${roles()} />`}
		<${ui_base$Select} label=${i18n$t("keys.ends")} value=${is.days} onChange=${put("days")} options=${spans()} />
		<${ui_base$Input} label=${i18n$t("keys.ips")} hint=${i18n$t("keys.ipsHint")} mono value=${is.ips} onInput=${put("ips")} autocomplete="off" /><//>`}function EditKey({
close,of}){let[is,set]=lib_core$useState({name:of.name,until:of.expires_at?.slice(0,10)??"",ips:of.allowed_ips.join(", ")}),[wrong,say]=lib_core$useState(""),put=name=>value=>set(
now=>({...now,[name]:value})),send=()=>tried(async()=>{let body2={name:is.name.trim(),allowed_ips:ranges(is.ips)};is.until!==(of.expires_at?.slice(0,10)??"")&&(body2.
expires_at=is.until?`${is.until}T23:59:59Z`:null),close(await api$api.patch(paths$encoded`/api-keys/${of.id}`,body2))},say);return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"keys.editTitle",{name:of.name})} onSubmit=${send} acts=${lib_core$html`<${Acts} close=${close} act=${i18n$t("ui.save")} />`}>
		${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<${ui_base$Input} label=${i18n$t("keys.name")} value=${is.name} onInput=${put("name")} maxlength="50" required autofocus />
		<${ui_base$Input} label=${i18n$t("keys.until")} hint=${i18n$t("keys.untilHint")} type="date" value=${is.until} onInput=${put("until")} />
		<${ui_base$Input} label=${i18n$t("keys.ips")} hint=${i18n$t("keys.ipsHint")} mono value=${is.ips} onInput=${put("ips")} autocomplete="off" /><//>`}function Made({
made,domains,done}){let[tongue,setTongue]=lib_core$useState("curl"),[copied2,setCopied]=lib_core$useState(!1),bound=domains.find(d=>d.id===made.domain_id),domain=bound??
domains.find(d=>d.status==="verified")??domains[0],from=`hello@${domain?.name??"example.com"}`,to=state$me.value.email,what=made.permission==="full_access"?i18n$t(
"keys.everything",{role:i18n$t(`roles.${made.role}`)}):bound?i18n$t("keys.sendFrom",{domain:bound.name}):i18n$t("keys.send"),first=()=>ui_float$attempt(async()=>{
let{id}=await api$api.post("/emails",{from,to:[to],subject:i18n$t("keys.firstSubject"),text:i18n$t("keys.firstText",{name:made.name})});ui_float$toast(i18n$t("k\
eys.firstSent",{to}),{href:router$base+paths$encoded`/emails/${id}`,word:i18n$t("keys.firstSee")})});return lib_core$html`<div class="page"><section class="section" aria-labelledby="made"><div class="panel stack"><div class="stack stack--2"><h2 id="made">${i18n$t(
"keys.made",{name:made.name})}</h2><p class="ink2 t13r">${i18n$t("keys.madeText",{what,end:made.expires_at?i18n$t("keys.endsOn",{day:format$day(made.expires_at)}):
i18n$t("keys.noEnd")})}</p></div>
		<div class="secret wide"><code>${made.token}</code><${ui_base$Button} kind="primary" icon=${copied2?"check":"copy"} onClick=${async()=>setCopied(await ui_base$copy(
made.token))}>${i18n$t(copied2?"ui.copied":"ui.copy")}<//></div>
		<div class="wide"><${ui_base$Code} name=${i18n$t("keys.language")} tabs=${tongues2} at=${tongue} onTab=${setTongue} code=${snippet(tongue,location.origin,from,
to)} /></div>
		<div class="row row--wrap">${domain?.status==="verified"&&lib_core$html`<${ui_base$Button} icon="send" onClick=${first}>${i18n$t("keys.first")}<//>`}<${ui_base$Button} kind="quiet" onClick=${done}>${i18n$t(
"keys.keptIt")}<//></div></div></section></div>`}var KeySections=({at})=>lib_core$html`<${ui_base$Sections} label=${i18n$t("keys.sections")} at=${router$base+at} links=${[[i18n$t("keys.title"),`${router$base}/\
keys`],[i18n$t("smtp.title"),`${router$base}/smtp`]]} />`,ended=key=>key.expires_at&&new Date(key.expires_at)<=new Date;function may(key,domains){return key.permission===
"full_access"?i18n$t("keys.everything",{role:i18n$t(`roles.${key.role}`)}):key.domain_id?i18n$t("keys.sendFrom",{domain:domains.find(d=>d.id===key.domain_id)?.name??
i18n$t("keys.goneDomain")}):i18n$t("keys.send")}function end(key,list){return ui_float$attempt(async()=>{await ui_float$confirm({title:i18n$t("keys.endTitle",{name:key.
name}),text:i18n$t("keys.endText"),act:i18n$t("keys.endAct")})&&(await api$api.del(paths$encoded`/api-keys/${key.id}`),await list.reload())})}function Keys(){let list=api$useList(
"/api-keys"),domains=api$useGet("/domains",{limit:100}).data?.data??[],[made,setMade]=lib_core$useState(null),make=async()=>{let answer=await ui_float$dialog(close=>lib_core$html`<${MakeKey} close=${close} domains=${domains} />`);
answer&&(setMade(answer),window.scrollTo(0,0),await list.reload())};ui_float$useAsked(()=>state$mayAdmin.value&&make());let edit=async key=>{await ui_float$dialog(
close=>lib_core$html`<${EditKey} close=${close} of=${key} />`)&&await list.reload()},columns=[{name:i18n$t("keys.name"),class:"cell-name cell-cut medium",cell:key=>lib_core$html`<bdi title=${key.
name}>${key.name}</bdi>${!key.last_used_at&&lib_core$html` <span class=${`badge ${Date.now()-new Date(key.created_at).getTime()>7*864e5?"badge--warn":""}`}>${i18n$t(
"keys.neverUsed")}</span>`}<span class="cell-sub">${may(key,domains)}</span>`},{name:i18n$t("keys.key"),class:"cell-cut hide-s",cell:key=>lib_core$html`<${ui_base$Copy} text=${key.
prefix} show=${`${key.prefix}…`} />`},{name:i18n$t("keys.may"),class:"cell-cut hide-s",cell:key=>lib_core$html`<span title=${may(key,domains)}>${may(key,domains)}</span>`},
{name:i18n$t("keys.from"),class:"cell-cut drop-1 w-num",cell:key=>key.allowed_ips.length?lib_core$html`<span class="mono" title=${key.allowed_ips.join(", ")}>${key.
allowed_ips.length===1?key.allowed_ips[0]:i18n$t("keys.ranges",{n:key.allowed_ips.length})}</span>`:lib_core$html`<span class="muted">${i18n$t("keys.anywhere")}</span>`},
{name:i18n$t("keys.ends"),class:"w-num drop-2",cell:key=>key.expires_at?ended(key)?lib_core$html`<span class="bad">${i18n$t("keys.ended")}</span>`:lib_core$html`<time datetime=${key.
expires_at} title=${key.expires_at}>${format$day(key.expires_at)}</time>`:lib_core$html`<span class="muted">${i18n$t("keys.never")}</span>`},{name:i18n$t("keys.\
used"),class:"num w-num muted",cell:key=>lib_core$html`<${ui_base$Time} at=${key.last_used_at} />`},...state$mayAdmin.value?[{name:i18n$t("ui.acts"),hide:!0,class:"\
num w-acts",cell:key=>lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("keys.acts",{name:key.name})} items=${[{icon:"edit",name:i18n$t("keys.edit"),run:()=>edit(
key)},null,{icon:"x",name:i18n$t("keys.end"),danger:!0,run:()=>end(key,list)}]} />`}]:[]],makeButton=lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${make}>${i18n$t(
"keys.make")}<//>`;return lib_core$html`<${ui_base$Head} title=${i18n$t("keys.title")}><${ui_list$Csv} path="/api-keys" name="api-keys" />${state$mayAdmin.value&&
makeButton}<//>
	<${KeySections} at="/keys" />
	${made&&lib_core$html`<${Made} made=${made} domains=${domains} done=${()=>setMade(null)} />`}
	<${ui_list$Table} list=${list} label=${i18n$t("keys.title")} columns=${columns} empty=${lib_core$html`<${ui_base$Empty} ghost=${[["my-app",lib_core$html`<span class="mono">mlr_8fK2…</span>`,
i18n$t("time.min",{n:2})],["website",lib_core$html`<span class="mono">mlr_3xQ9…</span>`,i18n$t("time.d",{n:3})]]} icon="key" title=${i18n$t("keys.none")} act=${state$mayAdmin.
value&&makeButton}>${i18n$t(state$mayAdmin.value?"keys.noneText":"keys.noneAsk")}<//>`} />`}var RelaySections=({at})=>lib_core$html`<${ui_base$Sections} label=${i18n$t("reports.sections")} at=${router$base+at} links=${[[i18n$t("relays.title"),`${router$base}\
/operator/relays`],[i18n$t("reports.title"),`${router$base}/operator/reports`]]} />`;function stateOf(r){return r.open?r.last_refused_at&&(!r.last_seen_at||r.last_refused_at>
r.last_seen_at)?["pending",i18n$t("reports.refusing")]:r.last_seen_at?["ok",i18n$t("reports.working")]:["not_started",i18n$t("reports.silent")]:["not_started",i18n$t(
"reports.closed")]}var hidden=address2=>address2.replace(/:[^/@]+@/,":••••••••@").replace(/[^/]{12,}$/,"••••••••");function Route({
of:r}){let[shown3,show]=lib_core$useState(!1),box=lib_core$useRef(null);lib_core$useEffect(()=>{location.hash===`#${r.source}`&&(box.current.querySelector("deta\
ils").open=!0,box.current.scrollIntoView())},[]);let[kind,word]=stateOf(r),secret=r.address&&r.source!=="ses"&&r.source!=="bounces",steps=(i18n$find(`reports.st\
eps.${r.source}`)??i18n$t(`reports.stepsBy.${r.authentication==="password"&&!r.password?"inURL":r.authentication}`,{source:r.source})).split(`
`);return lib_core$html`<div ref=${box}><${ui_base$Section} title=${r.name??i18n$t(`reports.name.${r.source}`)} acts=${lib_core$html`<${ui_base$Status} of=${kind} word=${word} />`}><div class="stack stack--2"><div class="wide"><${ui_base$Facts} pairs=${[
[i18n$t("reports.address"),r.address?lib_core$html`<${ui_base$Copy} text=${r.address} show=${secret&&!shown3?hidden(r.address):r.address} shown />${secret&&lib_core$html` <${ui_base$Button} kind="quiet" onClick=${()=>show(
!shown3)}>${i18n$t(shown3?"reports.hide":"reports.show")}<//>`}`:lib_core$html`<span class="muted">${i18n$t("reports.noAddress")}</span>`],[i18n$t("signIn.passw\
ord"),r.password&&lib_core$html`<${ui_base$Copy} text=${r.password} show=${shown3?r.password:"••••••••"} shown />`],[i18n$t("reports.seen"),lib_core$html`<${ui_base$Time} at=${r.
last_seen_at} />`],[i18n$t("reports.refused"),r.last_refused_at&&lib_core$html`<${ui_base$Time} at=${r.last_refused_at} />${r.last_refused&&lib_core$html`<span class="break">: ${r.
last_refused}</span>`}`]]} /></div><details class="fold"><summary><${ui_base$Icon} name="right" />${i18n$t("reports.how")}</summary><ol class="reports-steps t13r ink2 prose">${steps.
map(s=>lib_core$html`<li>${s}</li>`)}</ol>${!i18n$find(`reports.steps.${r.source}`)&&lib_core$html`<p class="t13r"><a href=${`/manual/provider-webhooks#${r.name.
toLowerCase().replaceAll(" ","-")}`}>${i18n$t("reports.manual",{name:r.name})}</a></p>`}</details></div><//></div>`}function Reports(){let got=api$useGet("/inge\
st",void 0,{every:15}),top=lib_core$html`<${ui_base$Head} title=${i18n$t("reports.title")} /><${RelaySections} at="/operator/reports" />`;return got.error&&!got.
data?lib_core$html`${top}<${ui_base$Failed} error=${got.error} retry=${got.reload} />`:got.data?lib_core$html`${top}<div class="page page--text"><p class="t13r ink2 prose reports-intro">${i18n$t(
"reports.intro")}</p>${got.data.data.map(r=>lib_core$html`<${Route} key=${r.source} of=${r} />`)}</div>`:lib_core$html`${top}<${ui_base$Bones} />`}var StandingSections=({at})=>lib_core$html`<${ui_base$Sections} label=${i18n$t("reputation.sections")} at=${router$base+at} links=${[[i18n$t("reputation.title"),
`${router$base}/reputation`],[i18n$t("usage.title"),`${router$base}/usage`]]} />`,bounceLines=[.04,.05],complaintLines=[5e-4,.001],enforced=()=>state$me.value.guardrails===
"enforce";function verdict(d){return d.emails_sent?d.guardrail_status==="paused"?{kind:"bad",line:i18n$t("reputation.paused"),fix:i18n$t(enforced()?"reputation.\
pausedFix":"reputation.warnOnly")}:d.guardrail_status==="warning"?{kind:"warn",line:i18n$t("reputation.warning"),fix:i18n$t(enforced()?"reputation.warningFix":"\
reputation.warnOnly")}:d.insufficient_outcome_data?{kind:"neutral",line:i18n$t("reputation.early"),fix:i18n$t("reputation.few")}:{kind:"good",line:i18n$t("reput\
ation.good"),fix:null}:{kind:"neutral",line:i18n$t("reputation.nothing"),fix:i18n$t("reputation.nothingFix")}}var Score=({label,value,note})=>lib_core$html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${value===
null?"–":format$number(value,{maximumFractionDigits:1})}${value!==null&&lib_core$html`<small>${i18n$t("reputation.of10")}</small>`}</p><p class="stat-note">${note}</p></div>`;
function Rate({label,value,lines,digits,more,act,few}){let words2=few?i18n$t("reputation.tooFew"):value===null?i18n$t("reputation.unknown"):value>=lines[1]?i18n$t(
"reputation.over",{line:format$percent(lines[1],digits)}):value>=lines[0]?i18n$t("reputation.between",{line:format$percent(lines[0],digits),next:format$percent(
lines[1],digits)}):i18n$t("reputation.under",{line:format$percent(lines[0],digits)});return lib_core$html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${value===
null?"–":format$percent(value,digits)}</p><${ui_chart$Scale} value=${few?0:value??0} lines=${lines} label=${`${label}: ${value===null?i18n$t("reputation.unkno\
wn"):format$percent(value,digits)}. ${words2}`} /><p class="stat-note">${words2}</p><p class="stat-note">${more} ${act}</p></div>`}function Reputation(){let got=api$useGet(
"/deliverability",void 0,{every:60}),d=got.data,top=lib_core$html`<${ui_base$Head} title=${i18n$t("reputation.title")} note=${d&&lib_core$html`<span class="muted t12">${i18n$t(
"reputation.window",{n:d.window_days})}</span>`} /><${StandingSections} at="/reputation" />`;if(got.error&&!d)return lib_core$html`${top}<${ui_base$Failed} error=${got.
error} retry=${got.reload} />`;if(!d)return lib_core$html`${top}<${ui_base$Bones} />`;let says=verdict(d);return lib_core$html`${top}<${ui_base$Verdict} kind=${says.
kind} line=${says.line} fix=${says.fix} acts=${d.guardrail_status!=="ok"&&lib_core$html`<${ui_base$Button} href=${`${router$base}/emails?q=${encodeURIComponent(
`status:${(d.complaint_rate??0)>=complaintLines[0]?"complained":"bounced"}`)}`}>${i18n$t("reputation.see")}<//>`} />
	<div class="page"><div class="stats stats--3"><${Score} label=${i18n$t("reputation.score")} value=${d.score} note=${d.band?i18n$t(`reputation.band.${d.band}`):
i18n$t("reputation.noScore")} /><${Score} label=${i18n$t("reputation.content")} value=${d.content_score} note=${i18n$t("reputation.contentNote",{n:d.scored_recipients})} /><${Score} label=${i18n$t(
"reputation.outcome")} value=${d.outcome_score} note=${i18n$t(d.insufficient_outcome_data?"reputation.outcomeFew":"reputation.outcomeNote",{n:d.emails_sent})} /></div>
	<${ui_base$Section} title=${i18n$t("reputation.rates")}><div class="stats stats--2"><${Rate} few=${d.insufficient_outcome_data} label=${i18n$t("reputation.boun\
ces")} value=${d.hard_bounce_rate} lines=${bounceLines} digits=${1} more=${i18n$t(enforced()?"reputation.bouncesMore":"reputation.bouncesWarn")} /><${Rate} few=${d.
insufficient_outcome_data} label=${i18n$t("reputation.complaints")} value=${d.complaint_rate} lines=${complaintLines} digits=${2} more=${i18n$t(enforced()?"repu\
tation.complaintsMore":"reputation.bouncesWarn")} /></div><//>
	<${ui_base$Section} title=${i18n$t("reputation.clears")}><ul class="items">${["age","content","lists"].map(k=>lib_core$html`<li><span class="grow">${i18n$t(`re\
putation.clear_${k}`)}</span></li>`)}</ul><//></div>`}var Answer=({of})=>lib_core$html`<${ui_base$Status} of=${of>=500?"bad":of>=400?"pending":"ok"} word=${String(of)} />`,ms=ms2=>`${format$number(ms2,{maximumFractionDigits:ms2<
10?1:0})} ms`,spans2={hour:3600,day:86400,week:604800};function Requests(){let asked=Object.fromEntries(["method","status","endpoint","key_id","email_id","span"].
map(name=>[name,router$place.value.query.get(name)??""])),keys=api$useGet("/api-keys",{limit:100}).data?.data??[],since=spans2[asked.span]?new Date((Math.floor(
Date.now()/6e4)-spans2[asked.span]/60)*6e4).toISOString():"",query={method:asked.method,status:asked.status,endpoint:asked.endpoint,key_id:asked.key_id,email_id:asked.
email_id,created_after:since},list=api$useList("/logs",query),put=name=>value=>router$setQuery({[name]:value}),filtered=Object.values(asked).some(Boolean),clear=lib_core$html`<${ui_base$Button} onClick=${()=>router$setQuery(
{method:null,status:null,endpoint:null,key_id:null,email_id:null,span:null})}>${i18n$t("requests.clear")}<//>`,nameOf=id=>keys.find(k=>k.id===id)?.name;return lib_core$html`<${ui_base$Head} title=${i18n$t(
"requests.title")}><${ui_base$Button} icon="refresh" label=${i18n$t("requests.reload")} onClick=${list.reload} /><${ui_list$Csv} path="/logs" query=${query} name="requests" /><//>
	<div class="tools row--wrap">
		<input class="input requests-path" type="search" aria-label=${i18n$t("requests.path")} placeholder=${i18n$t("requests.path")} value=${asked.endpoint} onChange=${e=>router$setQuery(
{endpoint:e.currentTarget.value.trim()})} />
		<${ui_base$Select} bare label=${i18n$t("requests.method")} value=${asked.method} onChange=${put("method")} options=${[["",i18n$t("requests.anyMethod")],...["G\
ET","POST","PATCH","PUT","DELETE"].map(m=>[m,m])]} />
		<${ui_base$Select} bare label=${i18n$t("requests.status")} value=${asked.status} onChange=${put("status")} options=${[["",i18n$t("requests.anyStatus")],...["2\
xx","4xx","5xx","401","403","404","422","429"].map(s=>[s,s])]} />
		<${ui_base$Select} bare label=${i18n$t("requests.key")} value=${asked.key_id} onChange=${put("key_id")} options=${[["",i18n$t("requests.anyKey")],...keys.map(
k=>[k.id,k.name])]} />
		<${ui_base$Select} bare label=${i18n$t("requests.when")} value=${asked.span} onChange=${put("span")} options=${[["",i18n$t("requests.ever")],["hour",i18n$t("r\
equests.hour")],["day",i18n$t("requests.day")],["week",i18n$t("requests.week")]]} />
		${filtered&&clear}</div>
	${asked.email_id&&lib_core$html`<div class="page"><p class="t13r ink2">${i18n$t("requests.ofEmail")} <a class="link" href=${router$base+paths$encoded`/emails/${asked.
email_id}`}>${asked.email_id}</a></p></div>`}
	<${ui_list$Table} list=${list} label=${i18n$t("requests.title")} open=${row=>router$base+paths$encoded`/requests/${row.id}`} empty=${lib_core$html`<${ui_base$Empty} ghost=${filtered?
void 0:[["POST /emails",lib_core$html`<${Answer} of=${200} />`,"3 ms"],["POST /emails",lib_core$html`<${Answer} of=${422} />`,"1 ms"]]} icon="list" title=${i18n$t(
filtered?"requests.noneSuch":"requests.none")} act=${filtered?clear:lib_core$html`<${ui_base$Button} href=${`${router$base}/keys`}>${i18n$t("requests.keys")}<//>`}>${i18n$t(
filtered?"requests.noneSuchText":"requests.noneText")}<//>`} columns=${[{name:i18n$t("requests.status"),class:"w-age",cell:row=>lib_core$html`<${Answer} of=${row.
response_status} />`},{name:i18n$t("requests.method"),class:"w-age hide-s",cell:row=>lib_core$html`<span class="mono">${row.method}</span>`},{name:i18n$t("reque\
sts.endpoint"),class:"cell-name cell-cut",cell:row=>lib_core$html`<a class="mono" href=${router$base+paths$encoded`/requests/${row.id}`} title=${row.endpoint}>${row.
endpoint}</a><span class="cell-sub">${row.method}${row.error?`, ${row.error}`:""}</span>`},{name:i18n$t("requests.error"),class:"w-part cell-cut hide-s",cell:row=>row.
error&&lib_core$html`<span class="mono" title=${row.error}>${row.error}</span>`},{name:i18n$t("requests.by"),class:"cell-cut drop-1 w-relay",cell:row=>row.key_id?
lib_core$html`<bdi>${nameOf(row.key_id)??i18n$t("requests.goneKey")}</bdi>`:lib_core$html`<span class="muted">${i18n$t("requests.person")}</span>`},{name:i18n$t(
"requests.took"),class:"w-age num drop-2",cell:row=>ms(row.duration_ms)},{name:i18n$t("requests.age"),class:"w-age num muted",cell:row=>lib_core$html`<${ui_base$Time} at=${row.
created_at} />`}]} />`}var ops={text:["equals","not_equals","contains","starts_with","ends_with","is_set","is_not_set"],number:["equals","not_equals","greater_than","less_than","is_se\
t","is_not_set"],flag:["is_true","is_false"],time:["before","after"],mail:["is_true","is_false","within_days","not_within_days","in_broadcast","not_in_broadcast"],
topic:["subscribed","not_subscribed"]},bare=["is_set","is_not_set","is_true","is_false"],fields={email:"text",first_name:"text",last_name:"text",unsubscribed:"f\
lag",created_at:"time",received:"mail",opened:"mail",clicked:"mail",topic:"topic"},values={within_days:"days",not_within_days:"days",in_broadcast:"broadcast",not_in_broadcast:"\
broadcast",subscribed:"topic",not_subscribed:"topic"},isProperty=field=>field.startsWith("property:"),fieldName=field=>isProperty(field)?field.slice(9):i18n$t(`\
conditions.${field}`);function useNames(filters){let of=what=>filters.some(filter=>filter?.conditions?.some(c=>values[c.op]===what)),broadcasts=api$useGet(of("b\
roadcast")?"/broadcasts":null,{limit:100}).data?.data??[],topics=api$useGet(of("topic")?"/topics":null,{limit:100}).data?.data??[],names=new Map([...broadcasts,
...topics].map(row=>[row.id,row.name||row.subject]));return id=>names.get(id)??id}function inWords(filter,named2){return filter?filter.conditions?.length?filter.
conditions.map(c=>words(c,named2)).join(filter.match==="any"?` ${i18n$t("conditions.or")} `:` ${i18n$t("conditions.and")} `):i18n$t("conditions.everybody"):i18n$t(
"conditions.byHand")}function words(c,named2){return fields[c.field]!=="mail"?[fieldName(c.field),i18n$t(`conditions.ops.${c.op}`),bare.includes(c.op)?"":shown2(
c,named2)].join(" ").trim():`${fieldName(c.field)}: ${values[c.op]==="days"?i18n$t(`conditions.days.${c.op}`,{n:Number(c.value)}):bare.includes(c.op)?i18n$t(`co\
nditions.mail.${c.op}`):`${i18n$t(`conditions.ops.${c.op}`)} ${named2(c.value)}`}`}var shown2=(c,named2)=>c.field==="created_at"?String(c.value).slice(0,10):values[c.
op]?named2(c.value):c.value,complete=filter=>filter.conditions.every(c=>bare.includes(c.op)||String(c.value??"").trim()!=="");function Builder({filter,onChange}){
let declared=api$useGet("/contact-properties",{limit:100}).data?.data??[],typeOf2=field=>isProperty(field)?declared.find(p=>`property:${p.key}`===field)?.type===
"number"?"number":"text":fields[field]??"text",change=(i,part2)=>onChange({...filter,conditions:filter.conditions.map((c,j)=>j===i?{...c,...part2}:c)}),setField=(i,field)=>{
let fit=ops[typeOf2(field)],before=filter.conditions[i];change(i,{field,op:fit.includes(before.op)?before.op:fit[0],value:typeOf2(field)===typeOf2(before.field)?
before.value:""})},setOp=(i,op)=>change(i,{op,value:values[op]===values[filter.conditions[i].op]?filter.conditions[i].value:values[op]==="days"?"30":""}),opName=(c,op)=>i18n$t(
fields[c.field]==="mail"&&bare.includes(op)?`conditions.mail.${op}`:`conditions.ops.${op}`),names=[...new Set([...Object.keys(fields),...declared.map(p=>`proper\
ty:${p.key}`),...filter.conditions.map(c=>c.field)])].map(field=>[field,fieldName(field)]);return lib_core$html`<div class="stack stack--2 builder">
		${filter.conditions.length>1&&lib_core$html`<div class="row">${i18n$t("conditions.match")} <${ui_base$Seg} label=${i18n$t("conditions.match")} value=${filter.
match} onChange=${match=>onChange({...filter,match})} options=${[["all",i18n$t("conditions.all")],["any",i18n$t("conditions.any")]]} /></div>`}
		${filter.conditions.map((c,i)=>lib_core$html`<div class="condition wide" role="group" aria-label=${i18n$t("conditions.nth",{n:i+1})} key=${i}>
			<${ui_base$Select} bare label=${i18n$t("conditions.field")} value=${c.field} options=${names} onChange=${field=>setField(i,field)} />
			<${ui_base$Select} bare label=${i18n$t("conditions.op")} value=${c.op} options=${ops[typeOf2(c.field)].map(op=>[op,opName(c,op)])} onChange=${op=>setOp(i,op)} />
			<${Value} of=${c} type=${typeOf2(c.field)} onChange=${value=>change(i,{value})} />
			<${ui_base$Button} icon="x" kind="quiet" label=${i18n$t("conditions.remove")} onClick=${()=>onChange({...filter,conditions:filter.conditions.filter((_,j)=>j!==
i)})} /></div>`)}
		${filter.conditions.some(c=>fields[c.field]==="mail")&&lib_core$html`<p class="muted t12">${i18n$t("conditions.mailHint")}</p>`}
		<${ui_base$Button} icon="plus" onClick=${()=>onChange({...filter,conditions:[...filter.conditions,{field:"email",op:"contains",value:""}]})}>${i18n$t("conditi\
ons.add")}<//></div>`}function Value({of:c,type,onChange}){let label=i18n$t("conditions.value");return bare.includes(c.op)?lib_core$html`<span></span>`:values[c.
op]==="broadcast"||values[c.op]==="topic"?lib_core$html`<${Choice} of=${c} path=${values[c.op]==="topic"?"/topics":"/broadcasts"} label=${label} onChange=${onChange} />`:
values[c.op]==="days"?lib_core$html`<input class="input" aria-label=${i18n$t("conditions.daysLabel")} type="number" min="1" max="3650" value=${c.value} onInput=${e=>onChange(
e.currentTarget.value)} />`:type==="time"?lib_core$html`<input class="input" aria-label=${label} type="date" value=${String(c.value??"").slice(0,10)} onInput=${e=>onChange(
e.currentTarget.value&&`${e.currentTarget.value}T00:00:00Z`)} />`:lib_core$html`<input class="input" aria-label=${label} type="text" inputmode=${type==="number"?
"decimal":void 0} value=${c.value??""} onInput=${e=>onChange(e.currentTarget.value)} />`}function Choice({of:c,path,label,onChange}){let rows=(api$useGet(path,{
limit:100}).data?.data??[]).filter(row=>row.status!=="draft"||row.id===c.value),options=[["",i18n$t(path==="/topics"?"conditions.chooseTopic":"conditions.choose\
Broadcast")],...rows.map(row=>[row.id,row.name||row.subject])];return c.value&&!rows.some(row=>row.id===c.value)&&options.push([c.value,c.value]),lib_core$html`<${ui_base$Select} bare label=${label} value=${c.
value} options=${options} onChange=${onChange} />`}function Fit({filter}){let[answer,setAnswer]=lib_core$useState(null),asked=lib_core$useRef(0),ready=complete(
filter),key=JSON.stringify(filter);return lib_core$useEffect(()=>{if(!ready)return;let mine=++asked.current,end2=new AbortController,timer=setTimeout(async()=>{
try{let found=await api$api.read("/segments/preview",{filter},{signal:end2.signal});mine===asked.current&&setAnswer(found)}catch(error){if(!(error instanceof api$ApiError)&&
!end2.signal.aborted)throw error;mine===asked.current&&error instanceof api$ApiError&&setAnswer({error})}},250);return()=>{clearTimeout(timer),end2.abort()}},[key,
ready]),lib_core$html`<div class="fit" aria-live="polite">${answer?.error?lib_core$html`<p class="field-error"><${ui_base$Icon} name="alert" />${answer.error.message}</p>`:
ready?answer?lib_core$html`
		<p class="t16">${i18n$say("conditions.contacts",{n:answer.count,count:lib_core$html`<b class="strong">${answer.exact?format$number(answer.count):i18n$t("condi\
tions.atLeast",{n:answer.count})}</b>`})}</p>
		${answer.sample.length>0&&lib_core$html`<p class="muted t12">${i18n$t("conditions.sample",{n:answer.sample.length})}</p><ul class="items items--tight">${answer.
sample.map(c=>lib_core$html`<li key=${c.id}><a class="cut" href=${router$href(paths$encoded`/contacts/${c.id}`)}><bdi>${c.email}</bdi></a><span class="muted cut grow"><bdi>${ui_audience$nameOf(
c)}</bdi></span><${ui_audience$Subscribed} of=${c} /></li>`)}</ul>`}`:null:lib_core$html`<p class="muted">${i18n$t("conditions.unfinished")}</p>`}</div>`}function Settings(){let settings=api$useGet("/team");if(settings.error&&!settings.data)return lib_core$html`<${ui_base$Failed} error=${settings.error} retry=${settings.
reload} />`;if(!settings.data)return lib_core$html`<${ui_base$Bones} rows=${3} />`;let patch2=async change=>{settings.set(await api$api.patch("/team",change)),await gate$arrive()};
return lib_core$html`<div class="page"><${Name} of=${settings.data} patch=${patch2} /><${Brand} key=${settings.data.name} /><${Access} of=${settings.data} patch=${patch2} /><${Retention} of=${settings.
data} patch=${patch2} /></div>`}function Name({of,patch:patch2}){let[name,setName]=lib_core$useState(of.name),form=gate$useForm(()=>patch2({name:name.trim()})),
same=name.trim()===of.name;return lib_core$html`<${ui_base$Section} title=${i18n$t("team.name")}><form class="fields" onSubmit=${e=>{e.preventDefault(),form.submit()}}><${gate$Said} form=${form} fields=${[
"name"]} /><${ui_base$Input} label=${i18n$t("team.name")} required maxlength="100" value=${name} onInput=${setName} error=${gate$about(form.error,"name")} /><${ui_base$Button} type="submit" kind="primary" disabled=${same} busy=${form.
busy}>${i18n$t("team.save")}<//></form><//>`}function Access({of,patch:patch2}){let without2=api$useList("/members",{},{limit:100}).rows.filter(m=>!m.second_factor).
length,mine=state$me.value.second_factor.length>0,note=of.second_factor_required||mine?without2?i18n$t("team.requiredText",{n:without2}):i18n$t("team.requiredAl\
l"):i18n$t("team.requiredFirst");return lib_core$html`<${ui_base$Section} title=${i18n$t("team.access")}><${ui_base$Check} kind="switch" label=${i18n$t("team.re\
quired")} checked=${of.second_factor_required} disabled=${!mine&&!of.second_factor_required} onChange=${on=>ui_float$attempt(()=>patch2({second_factor_required:on}),
i18n$t("team.saved"),{undo:()=>ui_float$attempt(()=>patch2({second_factor_required:!on}))})} />
	<p class="muted t12">${note} ${!mine&&lib_core$html`<a class="link" href=${`${router$base}/account?part=sign-in`}>${i18n$t("team.toAccount")}</a>`}</p><//>`}var spans3=[
"7d","30d","90d","1y"];function Retention({of,patch:patch2}){let word=span=>({"":i18n$t("team.asServer"),0:i18n$t("team.forever")})[span]??i18n$t("team.kept",{span:spanWord(
span)}),line2=(field,label)=>{let now=of[field]??"",options=[...new Set(["","0",...spans3,now])].map(span=>[span,word(span)]),pick=async span=>{let shorter=span!==
""&&span!=="0";if(shorter&&!await ui_float$confirm({title:i18n$t("team.shorterTitle",{span:spanWord(span)}),text:i18n$t("team.shorterText"),act:i18n$t("team.sho\
rter")})){settle(n=>n+1);return}await ui_float$attempt(()=>patch2({[field]:span===""?null:span}),i18n$t("team.saved"),shorter?void 0:{undo:()=>ui_float$attempt(
()=>patch2({[field]:now||null}))}),settle(n=>n+1)};return lib_core$html`<${ui_base$Select} key=${`${field}${stamp}`} label=${label} value=${now} options=${options} onChange=${pick} />`},
[stamp,settle]=lib_core$useState(0);return lib_core$html`<${ui_base$Section} title=${i18n$t("team.retention")}><p class="ink2 t13r prose">${i18n$t("team.retenti\
onText")}</p><div class="fields fields--under">${line2("keep_content",i18n$t("team.content"))}${line2("keep_emails",i18n$t("team.emails"))}</div><//>`}function spanWord(span){
let m=/^(\d+)(h|d|w|y)$/.exec(span);return m?i18n$t(`team.span.${m[2]}`,{n:Number(m[1])}):span}var TeamSections=({at})=>lib_core$html`<${ui_base$Sections} label=${i18n$t("team.sections")} at=${router$base+at} links=${[[i18n$t("team.people"),`${router$base}\
/team`],[i18n$t("team.settings"),`${router$base}/team?part=settings`],[i18n$t("team.audit"),`${router$base}/audit`]]} />`;function closed(){return state$team.value?
state$mayAdmin.value?null:lib_core$html`<${ui_base$Empty} icon="lock" title=${i18n$t("team.closed")}>${i18n$t("team.closedText",{team:state$membership.value?.name??
"",role:i18n$t(`roles.${state$membership.value?.role??"member"}`)})}<//>`:lib_core$html`<${ui_base$Empty} icon="teams" title=${i18n$t("team.none")}>${i18n$t("te\
am.noneText")}<//>`}var grants=()=>state$membership.value?.role==="owner"?["owner","admin","member"]:["admin","member"],roleOptions=()=>grants().map(role=>[role,
i18n$t(`roles.${role}`)]);function Team(){let part2=router$place.value.query.get("part"),barred=closed(),[stamp,setStamp]=lib_core$useState(0),invite=async email=>{
await ui_float$dialog(close=>lib_core$html`<${Invite} close=${close} email=${email} />`)&&setStamp(n=>n+1)};return lib_core$html`<${ui_base$Head} title=${i18n$t(
"team.title")}>${!barred&&part2!=="settings"&&lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${()=>{invite("")}}>${i18n$t("team.invite")}<//>`}<//>
	<${TeamSections} at=${part2==="settings"?"/team?part=settings":"/team"} />${barred??(part2==="settings"?lib_core$html`<${Settings} />`:lib_core$html`<${People} stamp=${stamp} invite=${invite} />`)}`}
function People({stamp,invite}){let list=api$useList("/members"),columns=[{name:i18n$t("team.person"),class:"cell-name cell-cut",cell:m=>lib_core$html`<bdi class="medium">${m.
name||m.email}</bdi>${m.id===state$me.value.id&&lib_core$html` <span class="badge">${i18n$t("team.you")}</span>`}<span class="cell-sub">${m.name&&lib_core$html`<bdi>${m.
email}</bdi> `}${i18n$t(`roles.${m.role}`)}</span>`},{name:i18n$t("signIn.email"),class:"cell-cut hide-s",cell:m=>lib_core$html`<bdi class="muted">${m.email}</bdi>`},
{name:i18n$t("team.role"),class:"w-state hide-s",cell:m=>i18n$t(`roles.${m.role}`)},{name:i18n$t("team.factor"),class:"w-status",cell:m=>lib_core$html`<${ui_base$Status} of=${m.
second_factor?"ok":"neutral"} word=${i18n$t(m.second_factor?"team.on":"team.off")} />`},{name:i18n$t("team.seen"),class:"w-age num drop-2",cell:m=>m.last_seen_at?
lib_core$html`<${ui_base$Time} at=${m.last_seen_at} />`:lib_core$html`<span class="muted">${i18n$t("team.never")}</span>`},{name:i18n$t("ui.acts"),hide:!0,class:"\
w-acts num",cell:m=>lib_core$html`<${ui_float$Menu} kind="quiet" label=${`${i18n$t("ui.acts")}: ${m.name||m.email}`} items=${acts(m,list)} />`}];return lib_core$html`<${ui_list$Table} list=${list} columns=${columns} label=${i18n$t(
"team.people")} empty=${null} /><${Invitations} key=${stamp} invite=${invite} />`}function acts(m,list){let mine=m.id===state$me.value.id,may2=grants().includes(
m.role);return[...mine||!may2?[]:grants().map(role=>({name:i18n$t(`roles.${role}`),checked:role===m.role,run:()=>role!==m.role&&setRole(m,role,list)})),mine||!may2?
void 0:null,may2&&{icon:mine?"left":"trash",name:i18n$t(mine?"team.leave":"team.remove"),danger:!0,run:()=>remove(m,list)},!may2&&{name:i18n$t("team.ownersOnly"),
disabled:!0,run:()=>{}}].filter(item=>item!==void 0)}async function setRole(m,role,list){let set=async to=>{await api$api.patch(paths$encoded`/members/${m.id}`,
{role:to}),await list.reload()},before=m.role;await ui_float$attempt(()=>set(role),i18n$t("team.roleDone",{name:m.name||m.email,role:i18n$t(`roles.${role}`)}),{
undo:()=>ui_float$attempt(()=>set(before))})}async function remove(m,list){let mine=m.id===state$me.value.id,words2={name:m.name||m.email,team:state$membership.
value.name};if(!await ui_float$confirm(mine?{title:i18n$t("team.leaveTitle",words2),text:i18n$t("team.leaveText"),act:i18n$t("team.leave")}:{title:i18n$t("team.\
removeTitle",words2),text:i18n$t("team.removeText",words2),act:i18n$t("team.remove")}))return;let gone=await ui_float$attempt(async()=>{let answer=await api$api.
del(paths$encoded`/members/${m.id}`);return await list.reload(),answer},mine?void 0:i18n$t("team.removed",words2));gone&&await keysLeft(words2.name,gone.keys)}var keysLeft=async(name,keys)=>{
keys.length&&await ui_float$dialog(close=>lib_core$html`<${ui_float$DialogBody} title=${i18n$t("team.keysLeft",{name})} onSubmit=${()=>close()} acts=${lib_core$html`<${ui_base$Button} type="submit" kind="primary">${i18n$t(
"team.done")}<//>`}><p>${i18n$t("team.keysLeftText",{name})}</p><ul class="items">${keys.map(k=>lib_core$html`<li key=${k.id}><bdi class="medium">${k.name}</bdi> <bdi class="muted">${k.
team}</bdi></li>`)}</ul><//>`)};function Invitations({invite}){let list=api$useList("/invitations"),takeBack=i=>ui_float$attempt(async()=>{await api$api.del(paths$encoded`/invitations/${i.
id}`),await list.reload()},i18n$t("team.takenBack",{email:i.email})),columns=[{name:i18n$t("signIn.email"),class:"cell-name cell-cut",cell:i=>lib_core$html`<bdi>${i.
email}</bdi><span class="cell-sub">${i18n$t(`roles.${i.role}`)}</span>`},{name:i18n$t("team.role"),class:"w-state hide-s",cell:i=>i18n$t(`roles.${i.role}`)},{name:i18n$t(
"team.invited"),class:"w-age num hide-s",cell:i=>lib_core$html`<${ui_base$Time} at=${i.created_at} />`},{name:i18n$t("team.expires"),class:"w-age num",cell:i=>lib_core$html`<${ui_base$Time} at=${i.
expires_at} />`},{name:i18n$t("ui.acts"),hide:!0,class:"w-acts num",cell:i=>lib_core$html`<${ui_float$Menu} kind="quiet" label=${`${i18n$t("ui.acts")}: ${i.email}`} items=${[
{icon:"link",name:i18n$t("team.again"),run:()=>invite(i)},{icon:"x",name:i18n$t("team.takeBack"),danger:!0,run:()=>takeBack(i)}]} />`}];return lib_core$html`<div class="page page--invited"><${ui_base$Section} title=${i18n$t(
"team.invitations")}>${list.page&&!list.rows.length&&lib_core$html`<p class="muted t13r">${i18n$t("team.noInvitations")}</p>`}<//></div>
	<${ui_list$Table} list=${list} columns=${columns} label=${i18n$t("team.invitations")} empty=${null} />`}function Invite({close,email:before}){let[email,setEmail]=lib_core$useState(
before?.email??""),[role,setRole2]=lib_core$useState(grants().includes(before?.role)?before.role:"member"),[made,setMade]=lib_core$useState(null),form=gate$useForm(
async()=>setMade(await api$api.post("/invitations",{email:email.trim(),role})));return made?lib_core$html`<${ui_float$DialogBody} title=${i18n$t("team.linkTitle",
{email:email.trim()})} onSubmit=${()=>close(!0)} acts=${lib_core$html`<${ui_base$Button} type="submit" kind="primary">${i18n$t("team.done")}<//>`}>
		<div class="secret"><code>${made.url}</code><${ui_base$CopyButton} text=${made.url} /></div><p>${i18n$t("team.linkOnce")}${made.mailed&&` ${i18n$t("team.linkM\
ailed",{email:made.email})}`}</p><//>`:lib_core$html`<${ui_float$DialogBody} title=${i18n$t("team.inviteTitle")} onSubmit=${form.submit} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" busy=${form.busy}>${i18n$t("team.send")}<//>`}>
	<${gate$Said} form=${form} fields=${["email","role"]} />
	<${ui_base$Input} label=${i18n$t("team.email")} type="email" autocomplete="off" required value=${email} onInput=${setEmail} error=${gate$about(form.error,"emai\
l")} autofocus />
	<${ui_base$Select} label=${i18n$t("team.role")} value=${role} onChange=${setRole2} options=${roleOptions()} hint=${i18n$t(`team.roleHint.${role}`)} error=${gate$about(
form.error,"role")} /><//>`}var TeamsSections=({at})=>lib_core$html`<${ui_base$Sections} label=${i18n$t("teams.sections")} at=${router$base+at} links=${[[i18n$t("teams.title"),`${router$base}\
/operator/teams`],[i18n$t("teams.people"),`${router$base}/operator/people`]]} />`;function Teams(){let list=api$useList("/teams",{},{team:null}),open=(Body,of)=>ui_float$dialog(
close=>lib_core$html`<${Body} close=${close} of=${of} list=${list} />`),columns=[{name:i18n$t("teams.name"),class:"cell-name cell-cut",cell:one=>lib_core$html`<bdi class="medium">${one.
name}</bdi>${state$me.value.teams.some(mine=>mine.id===one.id)&&lib_core$html` <span class="badge">${i18n$t("teams.mine")}</span>`}<span class="cell-sub">${planWord(
one)}${one.suspended&&one.reason?` · ${one.reason}`:""}</span>`},{name:i18n$t("audit.id"),hide:!0,class:"w-team drop-1",cell:one=>lib_core$html`<${ui_base$Id} of=${one.
id} />`},{name:i18n$t("teams.plan"),class:"w-team hide-s",cell:planWord},{name:i18n$t("teams.state"),class:"w-status cell-cut",cell:one=>one.suspended?lib_core$html`<span title=${one.
reason}><${ui_base$Status} of="held" word=${i18n$t("teams.suspended")} /></span>`:lib_core$html`<${ui_base$Status} of="ok" word=${i18n$t("teams.active")} />`},{
name:i18n$t("teams.made"),class:"w-age num hide-s",cell:one=>lib_core$html`<${ui_base$Time} at=${one.created_at} />`},{name:i18n$t("ui.acts"),hide:!0,class:"w-a\
cts num",cell:one=>lib_core$html`<${ui_float$Menu} kind="quiet" label=${i18n$t("teams.acts",{name:one.name})} items=${[{icon:"edit",name:i18n$t("teams.rename"),
run:()=>open(Rename,one)},state$me.value.mode==="cloud"&&{icon:"gauge",name:i18n$t("teams.changePlan"),run:()=>open(Plan,one)},one.suspended?{icon:"play",name:i18n$t(
"teams.resume"),run:()=>suspend(one,!1,"",list)}:{icon:"pause",name:i18n$t("teams.suspend"),run:()=>open(Suspend,one)},null,{icon:"trash",name:i18n$t("teams.del\
ete"),danger:!0,run:()=>open(Delete,one)}]} />`}];return lib_core$html`<${ui_base$Head} title=${i18n$t("teams.title")}><${ui_base$Button} kind="primary" icon="plus" onClick=${()=>{
open(Add2)}}>${i18n$t("teams.add")}<//><//><${TeamsSections} at="/operator/teams" />
	<${ui_list$Table} list=${list} columns=${columns} label=${i18n$t("teams.label")} empty=${lib_core$html`<${ui_base$Empty} icon="teams" title=${i18n$t("teams.emp\
ty")} act=${lib_core$html`<${ui_base$Button} icon="plus" onClick=${()=>{open(Add2)}}>${i18n$t("teams.add")}<//>`} />`} />`}var planWord=one=>state$me.value.mode!==
"cloud"?i18n$t("teams.noLimits"):one.included===null?i18n$t(`teams.plans.${one.plan}`):i18n$t("teams.monthly",{plan:i18n$t(`teams.plans.${one.plan}`),n:one.included}),
Sends=({title,form,close,act,fields:fields2,kind="primary",held=!1,children})=>lib_core$html`<${ui_float$DialogBody} title=${title} onSubmit=${()=>held||form.submit()} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind=${kind} disabled=${held} busy=${form.busy}>${act}<//>`}><${gate$Said} form=${form} fields=${fields2} />${children}<//>`;
async function patch(of,change,list){await api$api.patch(paths$encoded`/teams/${of.id}`,change,{team:null}),await list.reload()}function Add2({close,list}){let[
name,setName]=lib_core$useState(""),form=gate$useForm(async()=>{await api$api.post("/teams",{name:name.trim()},{team:null}),await list.reload(),close(),ui_float$toast(
i18n$t("teams.added",{name:name.trim()}))});return lib_core$html`<${Sends} title=${i18n$t("teams.addTitle")} form=${form} close=${close} act=${i18n$t("teams.add")} fields=${[
"name"]}><p>${i18n$t("teams.addText")}</p><${ui_base$Input} label=${i18n$t("teams.name")} required maxlength="100" value=${name} onInput=${setName} error=${gate$about(
form.error,"name")} autofocus /><//>`}function Rename({close,of,list}){let[name,setName]=lib_core$useState(of.name),form=gate$useForm(async()=>{await patch(of,{
name:name.trim()},list),close(),await gate$arrive(),ui_float$toast(i18n$t("teams.renamed"),{undo:()=>ui_float$attempt(()=>patch(of,{name:of.name},list))})});return lib_core$html`<${Sends} title=${i18n$t(
"teams.renameTitle",{name:of.name})} form=${form} close=${close} act=${i18n$t("teams.rename")} fields=${["name"]}><${ui_base$Input} label=${i18n$t("teams.name")} required maxlength="100" value=${name} onInput=${setName} error=${gate$about(
form.error,"name")} autofocus /><//>`}function Plan({close,of,list}){let[plan,setPlan]=lib_core$useState(of.plan),[included,setIncluded]=lib_core$useState(of.included===
null?"":String(of.included)),[overage,setOverage]=lib_core$useState(of.overage),monthly=plan==="pro"||plan==="scale",form=gate$useForm(async()=>{let n=Number(included.
replace(/\D/g,""));await patch(of,{plan,...monthly&&n?{included:n}:{},...monthly&&overage?{overage}:{}},list),close(),ui_float$toast(i18n$t("teams.planDone",{name:of.
name,plan:i18n$t(`teams.plans.${plan}`)}))});return lib_core$html`<${Sends} title=${i18n$t("teams.planTitle",{name:of.name})} form=${form} close=${close} act=${i18n$t(
"teams.changePlan")} fields=${["included"]}>
	<${ui_base$Select} label=${i18n$t("teams.plan")} value=${plan} onChange=${to=>{setPlan(to),to!==plan&&setIncluded("")}} options=${["free","starter","pro","scal\
e"].map(id=>[id,i18n$t(`teams.plans.${id}`)])} hint=${i18n$t("teams.planHint")} />
	${monthly&&lib_core$html`<${ui_base$Input} label=${i18n$t("teams.included")} inputmode="numeric" value=${included} onInput=${setIncluded} hint=${i18n$t("teams.\
includedHint")} error=${gate$about(form.error,"included")} /><${ui_base$Check} label=${i18n$t("teams.overage")} checked=${overage} onChange=${setOverage} />`}<//>`}
var suspend=(of,on,reason,list)=>ui_float$attempt(()=>patch(of,{suspended:on,...on?{reason}:{}},list),i18n$t(on?"teams.suspendDone":"teams.resumed",{name:of.name}),
{undo:()=>ui_float$attempt(()=>patch(of,on?{suspended:!1}:{suspended:!0,reason:of.reason??""},list))});function Suspend({close,of,list}){let[reason,setReason]=lib_core$useState(
""),form=gate$useForm(async()=>{close(),await suspend(of,!0,reason.trim(),list)});return lib_core$html`<${Sends} title=${i18n$t("teams.suspendTitle",{name:of.name})} form=${form} close=${close} act=${i18n$t(
"teams.suspend")} kind="danger"><p>${i18n$t("teams.suspendText")}</p><${ui_base$Input} label=${i18n$t("teams.reason")} required value=${reason} onInput=${setReason} hint=${i18n$t(
"teams.reasonHint")} autofocus /><//>`}function Delete({close,of,list}){let[name,setName]=lib_core$useState(""),form=gate$useForm(async()=>{let gone=await api$api.
del(paths$encoded`/teams/${of.id}`,void 0,{team:null,query:{name}});close(),await list.reload(),await gate$arrive(),ui_float$toast(i18n$t("teams.deleted",{name:of.
name,emails:format$number(gone.emails),contacts:format$number(gone.contacts),dropped:format$number(gone.dropped)}))});return lib_core$html`<${Sends} title=${i18n$t(
"teams.deleteTitle",{name:of.name})} form=${form} close=${close} act=${i18n$t("teams.deleteAct")} kind="danger-solid" held=${name!==of.name}><p>${i18n$t("teams.\
deleteText")}</p><${ui_base$Input} label=${i18n$t("teams.name")} placeholder=${of.name} autocomplete="off" value=${name} onInput=${setName} autofocus /><//>`}var place=id=>`mailer.draft.${id}.data`;function testData(id){try{return JSON.parse(localStorage.getItem(place(id))??"{}")}catch{return{}}}function keepTestData(id,values2){
try{localStorage.setItem(place(id),JSON.stringify(values2))}catch{}}var typeOf=value=>Array.isArray(value)?"list":value&&typeof value=="object"?"object":["numbe\
r","boolean"].includes(typeof value)?typeof value:"string";function shapeOf(value){let of=Array.isArray(value)?value[0]:value;return of==null?[]:typeof of!="obj\
ect"||Array.isArray(of)?[{name:"",type:typeOf(of),items:shapeOf(of)}]:Object.entries(of).filter(([name])=>/^\w+$/.test(name)).map(([name,member])=>({name,type:typeOf(
member),items:Array.isArray(member)?shapeOf(member):void 0}))}function withMembers(variables,values2){return variables.filter(({key})=>key).flatMap(({key,type,...rest})=>{
let value=values2[key],own={name:key,type,...rest,...type==="list"?{items:shapeOf(value)}:{}};return type!=="object"||typeOf(value)!=="object"?[own]:[own,...shapeOf(
value).map(member=>({...member,name:`${key}.${member.name}`}))]})}var editTestData=values2=>ui_float$dialog(close=>lib_core$html`<${Data} values=${values2} close=${close} />`);
function Data({values:values2,close}){let[text,setText]=lib_core$useState(JSON.stringify(values2,null,2)),[wrong,say]=lib_core$useState(""),done=()=>{try{let read2=JSON.
parse(text);if(typeOf(read2)!=="object")throw new SyntaxError(i18n$t("testData.object"));close(read2)}catch(e){say(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"testData.title")} onSubmit=${done} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t(
"testData.use")}<//>`}>
		<p>${i18n$t("testData.text")}</p><${ui_base$Input} label=${i18n$t("testData.json")} lines="14" mono value=${text} onInput=${setText} error=${wrong} spellcheck="false" autofocus /><//>`}var instead={string:key=>key,number:()=>1,boolean:()=>!0,list:()=>[],object:()=>({}),html:key=>`<b>${key}</b>`};function standIns(variables,values2={}){let out={};
for(let{key,type,fallback_value:fallback}of variables){let value=values2[key];key&&(value!==void 0&&value!==""?out[key]=type==="number"?Number(value):type==="st\
ring"||type==="html"?String(value):value:fallback==null&&(out[key]=(instead[type]??instead.string)(key)))}return out}function Value2({of,value,set,edit}){let label=i18n$t(
"template.valueOf",{key:of.key});return of.type==="boolean"?lib_core$html`<${ui_base$Select} bare label=${label} value=${value===void 0?"":String(value)} onChange=${chosen=>set(
chosen===""?void 0:chosen==="true")} options=${[["","–"],["true",i18n$t("template.yes")],["false",i18n$t("template.no")]]} />`:of.type==="list"||of.type==="ob\
ject"?lib_core$html`<button type="button" class="link-plain mono" onClick=${edit}><span class="vh">${label} </span>${typeOf(value)===of.type?JSON.stringify(value):
i18n$t("testData.none")}</button>`:lib_core$html`<input class="input" aria-label=${label} value=${value??""} onInput=${e=>set(e.currentTarget.value)} />`}function Fallback({
of,set}){return of.type==="boolean"?lib_core$html`<${ui_base$Select} bare label=${i18n$t("template.fallback")} value=${String(of.fallback_value??"")} onChange=${chosen=>set(
chosen===""?null:chosen==="true")} options=${[["",i18n$t("template.fallbackNone")],["true",i18n$t("template.yes")],["false",i18n$t("template.no")]]} />`:of.type===
"list"||of.type==="object"?lib_core$html`<span class="muted">${i18n$t("template.fallbackNone")}</span>`:lib_core$html`<input class="input" aria-label=${i18n$t("\
template.fallback")} placeholder=${i18n$t("template.fallbackNone")} value=${of.fallback_value??""} onInput=${e=>set(e.currentTarget.value===""?null:e.currentTarget.
value)} />`}function undeclaredOf(value,all){let declared=new Set([...builtIn,...all.map(v=>v.key)]),texts=[value.subject,value.html,value.text].map(text=>text??
""),plain2=texts.flatMap(text=>used(text)).filter(v=>!v.broken&&!declared.has(v.key)&&!v.key.startsWith("contact.")).map(({key})=>({key,type:"string"}));return[
...new Map([...plain2,...value.syntax==="liquid"?liquid$undeclaredIn(texts,declared):[]].map(v=>[v.key,v])).values()]}function Variables2({draft,values:values2,
setValues}){let{value}=draft,all=value.variables??[],undeclared=lib_core$useMemo(()=>undeclaredOf(value,all),[value.subject,value.html,value.text,value.syntax,all]),
types=["string","number",...value.syntax==="liquid"?["boolean","list","object","html"]:[]],set=(i,parts3)=>draft.change({variables:all.map((v,j)=>i===j?{...v,...parts3}:
v)}),declare=()=>draft.change({variables:[...all,...undeclared.map(v=>({...v,fallback_value:null}))]}),edit=async()=>{let made=await editTestData({...standIns(all,
values2),...values2});made&&setValues(made)};return lib_core$html`${undeclared.length>0&&lib_core$html`<div class="vars"><span class="warn row"><${ui_base$Icon} name="alert" /><span>${i18n$t(
"template.undeclared",{n:undeclared.length,names:undeclared.map(({key})=>key).join(", ")})}</span></span><${ui_base$Button} class="push" onClick=${declare}>${i18n$t(
"template.declare",{key:undeclared.length===1?undeclared[0].key:undeclared.length})}<//></div>`}
	<div class="vars-table"><table class="table stack-s"><caption class="vh">${i18n$t("template.variables")}</caption><thead><tr><th scope="col">${i18n$t("template\
.variable")}</th><th scope="col">${i18n$t("template.type")}</th><th scope="col">${i18n$t("template.fallback")}</th><th scope="col">${i18n$t("template.values")}</th><th scope="col"><span class="vh">${i18n$t(
"ui.acts")}</span></th></tr></thead><tbody>
	${all.map((v,i)=>lib_core$html`<tr key=${v.id??i}><td data-label=${i18n$t("template.variable")}><input class="input mono" aria-label=${i18n$t("template.variabl\
e")} value=${v.key} onInput=${e=>set(i,{key:e.currentTarget.value.trim()})} /></td>
		<td data-label=${i18n$t("template.type")}><${ui_base$Select} bare label=${i18n$t("template.type")} value=${v.type} onChange=${type=>set(i,{type,fallback_value:null})} options=${types.
map(type=>[type,i18n$t(`visual.types.${type}`)])} /></td>
		<td data-label=${i18n$t("template.fallback")}><${Fallback} of=${v} set=${fallback=>set(i,{fallback_value:fallback})} /></td>
		<td class="cell-cut" data-label=${i18n$t("template.values")}><${Value2} of=${v} value=${values2[v.key]} set=${one=>setValues({...values2,[v.key]:one})} edit=${edit} /></td>
		<td class="cell-acts"><${ui_base$Button} icon="x" kind="quiet" label=${i18n$t("template.remove",{key:v.key})} onClick=${()=>draft.change({variables:all.filter(
(_,j)=>j!==i)})} /></td></tr>`)}</tbody></table>
	<div class="row"><${ui_base$Button} icon="plus" kind="quiet" onClick=${()=>draft.change({variables:[...all,{key:"",type:"string",fallback_value:null}]})}>${i18n$t(
"template.add")}<//>${all.length>0&&lib_core$html`<${ui_base$Button} icon="code" kind="quiet" onClick=${edit}>${i18n$t("testData.title")}<//>`}</div></div>`}var duplicateTemplate=id=>ui_float$attempt(async()=>{let made=await api$api.post(paths$encoded`/templates/${id}/duplicate`);router$go(paths$encoded`/templates/${made.
id}`)},i18n$t("templates.duplicated"));async function removeTemplate(row){return await ui_float$confirm({title:i18n$t("templates.deleteTitle",{name:row.name}),text:i18n$t(
"templates.deleteText"),act:i18n$t("templates.delete")})?await ui_float$attempt(()=>api$api.del(paths$encoded`/templates/${row.id}`),i18n$t("templates.deleted",
{name:row.name}))!==void 0:!1}function Templates(){let list=api$useList("/templates"),make=lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${()=>{
ui_float$dialog(close=>lib_core$html`<${New2} close=${close} />`)}}>${i18n$t("templates.new")}<//>`,remove2=async row=>{await removeTemplate(row)&&list.reload()};
return lib_core$html`<${ui_base$Head} title=${i18n$t("templates.title")}><${ui_list$Csv} path="/templates" name="templates" />${make}<//><${template_sections$TemplateSections} at="templates" />
	${list.error&&!list.rows.length?lib_core$html`<${ui_base$Failed} error=${list.error} retry=${list.reload} />`:list.loading?lib_core$html`<${ui_base$Bones} />`:
list.rows.length?lib_core$html`<ul class="gallery">${list.rows.map(row=>lib_core$html`<li key=${row.id}><${Thumb} of=${row} /><div class="gallery-text"><a class="cut medium" href=${router$base+
paths$encoded`/templates/${row.id}`} title=${row.name}><bdi>${row.name}</bdi></a><${ui_float$Menu} kind="quiet" label=${i18n$t("templates.actsOf",{name:row.name})} items=${[
{icon:"edit",name:i18n$t("templates.edit"),href:router$base+paths$encoded`/templates/${row.id}`},{icon:"copy",name:i18n$t("templates.duplicate"),run:()=>duplicateTemplate(
row.id)},{icon:"trash",name:i18n$t("templates.delete"),danger:!0,run:()=>remove2(row)}]} /></div><div class="gallery-note"><${ui_base$Status} of=${row.status} /><span class="muted"><${ui_base$Time} at=${row.
updated_at} /></span></div>${row.alias&&lib_core$html`<div class="gallery-note"><${ui_base$Copy} text=${row.alias} /></div>`}</li>`)}</ul><${ui_list$Foot} list=${list} />`:
lib_core$html`<${ui_base$Empty} icon="template" title=${i18n$t("templates.none")} act=${make}>${i18n$t("templates.noneText")}<//>`}`}function Thumb({of}){let box=lib_core$useRef(
null),[shown3,show]=lib_core$useState({});return lib_core$useEffect(()=>{let current=!0,eye=new IntersectionObserver(([entry])=>{entry.isIntersecting&&(eye.disconnect(),
api$api.get(paths$encoded`/templates/${of.id}`).then(whole=>api$api.read(paths$encoded`/templates/${of.id}/render`,{variables:standIns(whole.variables)})).then(
answer=>current&&show(answer),error=>{if(!(error instanceof api$ApiError))throw error;current&&show({error})}))});return eye.observe(box.current),()=>{current=!1,
eye.disconnect()}},[of.id,of.updated_at]),lib_core$html`<a class="thumb" ref=${box} href=${router$base+paths$encoded`/templates/${of.id}`} tabindex="-1" aria-hidden="true">${shown3.
url?lib_core$html`<iframe sandbox="" src=${shown3.url} tabindex="-1" title=${i18n$t("templates.thumb",{name:of.name})}></iframe>`:lib_core$html`<span class="thumb-none"><${ui_base$Icon} name="template" />${shown3.
error&&i18n$t("templates.noPreview")}</span>`}</a>`}var beginning2=`<!doctype html>
<html lang="en">
<body>
<p>Hello {{{NAME}}},</p>
<p></p>
</body>
</html>
`;function New2({close}){let[name,setName]=lib_core$useState(""),[alias,setAlias]=lib_core$useState(null),[start,setStart]=lib_core$useState("announcement"),[wrong,
setWrong]=lib_core$useState(""),shown3=alias??name.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g,"-").replace(/^-+|-+$/g,"").slice(0,60),make=async()=>{
try{let made=await api$api.post("/templates",{name:name.trim(),syntax:"liquid",subject:name.trim(),html:beginning2,...starters$hasDesign(start)?{design:starters$designOf(
start,{broadcast:!1})}:{},variables:starters$variablesOf(start),...shown3?{alias:shown3}:{}});close(),router$go(paths$encoded`/templates/${made.id}`)}catch(e){if(!(e instanceof
api$ApiError))throw e;setWrong(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("templates.new")} onSubmit=${make} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!name.trim()}>${i18n$t("templates.create")}<//>`}>
		<${ui_base$Input} label=${i18n$t("templates.name")} value=${name} onInput=${setName} autofocus maxlength="255" />
		<${ui_base$Input} label=${i18n$t("templates.alias")} hint=${i18n$t("templates.aliasHint")} mono value=${shown3} onInput=${setAlias} error=${wrong} />
		<${starters$Start} value=${start} onChange=${setStart} options=${["announcement","digest","receipt","blank","mjml","html"]} /><//>`}var groups=[["email",["email.sent","email.scheduled","email.delivered","email.delivery_delayed","email.bounced","email.complained","email.opened","email.clicked",
"email.failed","email.suppressed"]],["contact",["contact.created","contact.updated","contact.deleted","contact.topics.updated","topic.created","topic.updated","\
topic.deleted","suppression.added","suppression.removed"]],["domain",["domain.created","domain.updated","domain.deleted","deliverability.warning","deliverabilit\
y.paused","quota.warning","quota.reached"]]];function Events({value,onChange}){let set=new Set(value),flip=(names,on)=>{let now=new Set(set);for(let name of names)
on?now.add(name):now.delete(name);onChange([...now])};return lib_core$html`<div class="stack stack--2">${groups.map(([group,names])=>lib_core$html`<fieldset class="wide"><legend class="field-label">${i18n$t(
`webhooks.group.${group}`)}</legend>
		<${ui_base$Check} label=${i18n$t("webhooks.all",{n:names.length})} checked=${names.every(n=>set.has(n))} onChange=${on=>flip(names,on)} />
		<div class="events">${names.map(name=>lib_core$html`<${ui_base$Check} key=${name} label=${lib_core$html`<span class="mono">${name}</span>`} checked=${set.has(
name)} onChange=${on=>flip([name],on)} />`)}</div></fieldset>`)}</div>`}var keepSecret=secret=>ui_float$dialog(close=>lib_core$html`<${Secret} secret=${secret} close=${close} />`);
function Secret({secret,close}){let[done,setDone]=lib_core$useState(!1);return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("webhooks.secret")} onSubmit=${()=>close()} acts=${lib_core$html`<${ui_base$Button} type="submit">${i18n$t(
"webhooks.kept")}<//>`}>
		<p>${i18n$t("webhooks.secretText")}</p>
		<div class="secret"><code>${secret}</code><${ui_base$Button} kind="primary" icon=${done?"check":"copy"} onClick=${async()=>setDone(await ui_base$copy(secret))}>${i18n$t(
done?"ui.copied":"ui.copy")}<//></div><//>`}export{Blocks as blocks$default,removeBlock as blocks$removeBlock,saveBlock as blocks$saveBlock,Brand as brand$Brand,BroadcastStatus as broadcasts$BroadcastStatus,
cancel as broadcasts$cancel,create as broadcasts$create,Broadcasts as broadcasts$default,duplicate as broadcasts$duplicate,pageOf2 as broadcasts$pageOf,pause as broadcasts$pause,
unschedule as broadcasts$unschedule,Lint as composer$Lint,Part as composer$Part,Refused as composer$Refused,Composer as composer$default,useKnown as composer$useKnown,
Checks as composer_checks$Checks,Penalties as composer_checks$Penalties,Tags as composer_checks$Tags,testMail as composer_checks$testMail,Files as composer_files$Files,
Variables as composer_variables$Variables,fieldOf as composer_variables$fieldOf,without as composer_variables$without,Versions as composer_versions$Versions,consent as consent_words$consent,
Convert as convert$Convert,consentOf as csv_head$consentOf,countRows as csv_head$countRows,headOf as csv_head$headOf,keyOf as csv_head$keyOf,rowsOf as csv_head$rowsOf,
services as csv_head$services,textOf as csv_head$textOf,Diff as diff$Diff,diff as diff$diff,HealthSections as health$HealthSections,Health as health$default,HostedPages as hosted_pages$HostedPages,
Shown as hosted_pages$Shown,DropImages as image_library$DropImages,InsertImage as image_library$InsertImage,NoImages as image_library$NoImages,Picture as image_library$Picture,
Weight as image_library$Weight,accepted as image_library$accepted,describe as image_library$describe,embedded as image_library$embedded,insertFiles as image_library$insertFiles,
lookAt as image_library$lookAt,pickImage as image_library$pickImage,upload as image_library$upload,Mapping as import_new$Mapping,ImportStatus as imports$ImportStatus,
Imports as imports$default,looks as imports$looks,EditKey as key_forms$EditKey,Made as key_forms$Made,MakeKey as key_forms$MakeKey,KeySections as keys$KeySections,
Keys as keys$default,may as keys$may,languageName as language_names$languageName,Languages as languages$Languages,addLanguage as languages$addLanguage,inLanguage as languages$inLanguage,
languagesOf as languages$languagesOf,missing as languages$missing,MJML as mjml$MJML,looksLikeMJML as mjml$looksLikeMJML,usePost as plan$usePost,RelaySections as reports$RelaySections,
Reports as reports$default,StandingSections as reputation$StandingSections,Reputation as reputation$default,Answer as requests$Answer,Requests as requests$default,
ms as requests$ms,Builder as segment_builder$Builder,Fit as segment_builder$Fit,complete as segment_builder$complete,inWords as segment_builder$inWords,useNames as segment_builder$useNames,
snippet as snippets$snippet,tongues2 as snippets$tongues,TeamSections as team$TeamSections,closed as team$closed,Team as team$default,keysLeft as team$keysLeft,
Settings as team_settings$Settings,TeamsSections as teams$TeamsSections,Teams as teams$default,Variables2 as template_variables$Variables,standIns as template_variables$standIns,
Templates as templates$default,duplicateTemplate as templates$duplicateTemplate,removeTemplate as templates$removeTemplate,editTestData as test_data$editTestData,
keepTestData as test_data$keepTestData,shapeOf as test_data$shapeOf,testData as test_data$testData,typeOf as test_data$typeOf,withMembers as test_data$withMembers,
CodeEditor as ui_code_editor$CodeEditor,Refusal as ui_code_editor$Refusal,builtIn as variables$builtIn,findings as variables$findings,nearest as variables$nearest,
used as variables$used,Frame as visual$Frame,Visual as visual$Visual,Warning as visual$Warning,byHand as visual$byHand,isMJML as visual$isMJML,partOf as visual$partOf,
parts2 as visual$parts,Events as webhook_parts$Events,groups as webhook_parts$groups,keepSecret as webhook_parts$keepSecret};
