// Lets the search run in pages that are opened from a disk: there, browsers start no worker. A hidden frame runs the
// worker's script instead. The theme's worker looks for `IFrameWorker` in its parent window.
if (location.protocol === "file:") {
  const load = (document, address) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`cannot load ${address}`));
      document.head.append(script);
    });

  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html>";
      this.inside = new Promise((resolve) => {
        frame.onload = () => resolve(this.start(frame.contentWindow, new URL(address, document.baseURI).href));
      });
      document.body.append(frame);
    }

    async start(inside, address) {
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...addresses) => {
        for (const each of addresses) await load(inside.document, each);
      };
      await load(inside.document, address);
      return inside;
    }

    async postMessage(data) {
      const inside = await this.inside;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }

    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
