# frozen_string_literal: true

# A formatter that writes how each example ended, with its groups' names.
require 'json'

class Report
  RSpec::Core::Formatters.register self, :example_passed, :example_failed, :example_pending, :close

  def initialize(output)
    @output = output
    @told = []
  end

  %i[passed failed pending].each do |word|
    define_method(:"example_#{word}") do |notification|
      example = notification.example
      groups = example.example_group.parent_groups.reverse.map(&:description)
      @told << [word, groups + [example.description]]
    end
  end

  def close(_notification)
    @output.puts JSON.generate(@told)
  end
end
