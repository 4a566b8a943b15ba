import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_chart$Bars,ui_chart$Legend,ui_chart$Meter,ui_chart$Scale,ui_chart$Spark,ui_chart$few,ui_chart$scaleOf}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{reputation$StandingSections,reputation$default}from"./shared.js";var Count=({label,value,most,note})=>lib_core$html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${format$number(value)}${most&&lib_core$html`<small>${i18n$t(
"usage.of",{n:most})}</small>`}</p>${most&&lib_core$html`<${ui_chart$Meter} part=${value/most} kind=${value>=most?"bad":value>=most*.8?"warn":""} label=${i18n$t(
"usage.part",{part:format$percent(value/most,0)})} />`}<p class="stat-note">${note}</p></div>`;function Usage(){let days=router$place.value.query.get("days")===
"90"?90:router$place.value.query.get("days")==="7"?7:30,used=api$useGet("/usage",void 0,{every:30}),query={start_date:new Date(Date.now()-(days-1)*864e5).toISOString().
slice(0,10),dimensions:"period",granularity:"daily",metrics:"sent"},metrics=api$useGet("/emails/metrics",query),u=used.data,top=lib_core$html`<${ui_base$Head} title=${i18n$t(
"usage.title")}><${ui_list$Csv} path="/emails/metrics" query=${query} name="usage" /><//><${reputation$StandingSections} at="/usage" />`;if(used.error&&!u)return lib_core$html`${top}<${ui_base$Failed} error=${used.
error} retry=${used.reload} />`;if(!u)return lib_core$html`${top}<${ui_base$Bones} />`;let sum=metrics.data?.totals?.sent??0;return lib_core$html`${top}<div class="page"><div class="stats stats--3"><${Count} label=${i18n$t(
"usage.acceptedToday")} value=${u.today.emails_sent} most=${u.limits?.emails_per_day} note=${i18n$t("usage.resets",{when:format$relative(u.today.resets_at)})} />
		${u.period?lib_core$html`<${Count} label=${i18n$t("usage.period")} value=${u.period.emails_sent} most=${u.period.included} note=${lib_core$html`${i18n$say("us\
age.ends",{time:lib_core$html`<${ui_base$Time} at=${u.period.ends_at} />`})}${u.period.overage_enabled?` · ${i18n$t("usage.overage",{price:format$number(u.period.
overage_usd_per_1k,{style:"currency",currency:"USD"})})}`:""}`} />`:lib_core$html`<${Count} label=${i18n$t("usage.sentIn",{n:days})} value=${sum} note=${i18n$t(
"usage.perDay",{n:Math.round(sum/days)})} />`}
		<div class="stat"><p class="stat-label">${i18n$t("usage.plan")}</p><p class="stat-value">${u.plan??i18n$t("usage.own")}</p><p class="stat-note">${u.cloud?i18n$t(
"usage.planNote"):i18n$t("usage.ownNote")}</p></div></div>
	<${ui_base$Section} title=${i18n$t("usage.byDay")} acts=${lib_core$html`<${ui_base$Seg} label=${i18n$t("usage.spanLabel")} value=${String(days)} onChange=${n=>router$setQuery(
{days:n==="30"?null:n})} options=${["7","30","90"].map(n=>[n,i18n$t("usage.days",{n:Number(n)})])} />`}>${metrics.error&&!metrics.data?lib_core$html`<${ui_base$Failed} error=${metrics.
error} retry=${metrics.reload} />`:metrics.data&&lib_core$html`<${Chart} rows=${metrics.data.data??[]} days=${days} most=${u.limits?.emails_per_day} />`}<//>
	${u.limits&&lib_core$html`<${ui_base$Section} title=${i18n$t("usage.limits")}><${ui_base$Facts} pairs=${[[i18n$t("usage.emailsDay"),u.limits.emails_per_day&&format$number(
u.limits.emails_per_day)],[i18n$t("usage.emailsMonth"),u.limits.emails_per_month&&format$number(u.limits.emails_per_month)],[i18n$t("usage.domains"),u.limits.domains?
format$number(u.limits.domains):i18n$t("usage.noLimit")],[i18n$t("usage.contacts"),u.limits.contacts?format$number(u.limits.contacts):i18n$t("usage.noLimit")]]} /><//>`}</div>`}
function Chart({rows,days,most}){let of=new Map(rows.map(r=>[r.period.slice(0,10),r.sent])),bars=Array.from({length:days},(_,i)=>{let date=new Date(Date.now()-(days-
1-i)*864e5).toISOString().slice(0,10),value=of.get(date)??0;return{name:format$day(`${date}T12:00:00Z`),axis:i%Math.ceil(days/7)===0?format$day(`${date}T12:00:0\
0Z`):void 0,value,bad:most?value>=most:!1}});return lib_core$html`<${ui_chart$Bars} label=${i18n$t("usage.sent")} bars=${bars} show=${n=>format$short(n)} limits=${most?
[{value:most,word:i18n$t("usage.line")}]:[]} />`}export{Usage as default};
