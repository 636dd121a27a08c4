loop { (1..1000).map(&:to_s).sort }
