# The kernel of R: guest/envd/kernels.py says what it reads and writes.
local({
  cells <- file("/dev/fd/3", "rb", raw = TRUE)
  words <- file("/dev/fd/4", "wb", raw = TRUE)
  quoted <- function(text) {
    encodeString(gsub("[\001-\010\013\014\016-\037\177]", "", enc2utf8(as.character(text))), quote = '"')
  }
  say <- function(...) {
    given <- c(...)
    writeLines(paste0("{", paste0('"', names(given), '": ', given, collapse = ", "), "}"), words, useBytes = TRUE)
    flush(words)
  }
  plots <- file.path(tempdir(), "plot-%03d.png")
  options(device = function(...) grDevices::png(filename = plots, width = 7, height = 7, units = "in", res = 100))
  show <- function(main) function(value) {
    text <- paste(utils::capture.output(if (isS4(value)) methods::show(value) else print(value)), collapse = "\n")
    say(type = '"result"', is_main_result = main, text = quoted(text))
  }
  figures <- function() {
    while (grDevices::dev.cur() > 1) grDevices::dev.off()
    for (one in list.files(tempdir(), "^plot-[0-9]+[.]png$", full.names = TRUE)) {
      image <- paste(system2("base64", c("-w0", one), stdout = TRUE), collapse = "")
      unlink(one)
      say(type = '"result"', is_main_result = "false", text = '"<plot>"', png = quoted(image))
    }
  }
  run <- function(code) {
    last <- NULL
    for (expression in parse(text = code, keep.source = TRUE)) {
      if (!is.null(last)) show("false")(last$value)
      found <- withVisible(eval(expression, globalenv()))
      last <- if (found$visible) found
    }
    if (!is.null(last)) show("true")(last$value)
  }
  fail <- function(name) function(found) {
    where <- paste(deparse(conditionCall(found)), collapse = "\n")
    say(type = '"error"', name = quoted(name), value = quoted(conditionMessage(found)), traceback = quoted(where))
  }
  warn <- function(found) {
    message("Warning message:\n", conditionMessage(found))
    invokeRestart("muffleWarning")
  }
  repeat {
    code <- readBin(cells, "character", 1)
    if (length(code) == 0) quit("no")
    before <- list()
    for (n in seq_len(as.integer(readBin(cells, "character", 1)))) {
      pair <- readBin(cells, "character", 2)
      before[[pair[1]]] <- Sys.getenv(pair[1], NA)
      do.call(Sys.setenv, stats::setNames(list(pair[2]), pair[1]))
    }
    tryCatch(withCallingHandlers(run(code), warning = warn), error = fail("Error"),
             interrupt = function(found) {
               say(type = '"error"', name = '"KeyboardInterrupt"', value = '""', traceback = '""')
             })
    try(figures(), silent = TRUE)
    for (name in names(before)) {
      if (is.na(before[[name]])) Sys.unsetenv(name) else do.call(Sys.setenv, stats::setNames(before[name], name))
    }
    flush(stdout())
    say(type = '"done"')
  }
})
