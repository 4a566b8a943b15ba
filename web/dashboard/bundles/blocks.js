import{blocks$default,blocks$removeBlock,blocks$saveBlock}from"./shared.js";export{blocks$default as default,blocks$removeBlock as removeBlock,blocks$saveBlock as saveBlock};
